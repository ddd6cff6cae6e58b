package lockupdate

import "strings"

// Settle waits for the releases that s has on their way.
func Settle(s *Store) {
	s.mu.Lock()
	var landing []<-chan struct{}
	for _, ch := range s.releasing {
		landing = append(landing, ch)
	}
	s.mu.Unlock()
	for _, ch := range landing {
		<-ch
	}
}

// Scripts returns the sources by name.
func Scripts() map[string]string {
	return map[string]string{
		"acquire": acquireSource, "renew": renewSource, "release": releaseSource,
		"read": readSource, "commit_string": commitStringSource, "commit_hash": commitHashSource,
	}
}

// ScriptName tells which script an EVAL or EVALSHA runs; other commands are
// returned by their own name.
func ScriptName(args []string) string {
	for name, source := range Scripts() {
		if len(args) > 1 && (args[1] == source || args[1] == newScript(source).sha) {
			return name
		}
	}
	return strings.ToUpper(args[0])
}
