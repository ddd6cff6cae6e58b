package lockupdate

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
)

// Settle waits until s holds no lock and no release is in flight.
func Settle(s *Store) {
	synctest.Wait()
	for d := time.Nanosecond; s.queues.Busy(); d = min(2*d, time.Millisecond) {
		time.Sleep(d)
		synctest.Wait()
	}
}

// Stall advances the clock of the leases by d while their loop sleeps.
func (s *Store) Stall(d time.Duration) { s.keeper.Stall(d) }

// Scripts returns the sources of the scripts by name.
func Scripts() map[string]string { return driver.Scripts() }

// scriptNames returns the names of the scripts by source and by SHA1.
var scriptNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for name, source := range Scripts() {
		names[source], names[fmt.Sprintf("%x", sha1.Sum([]byte(source)))] = name, name
	}
	return names
})

// ScriptName returns the name of the script that an EVAL or EVALSHA runs, or that package unguarded
// replaced. For other commands it returns the command.
func ScriptName(args []string) string {
	if len(args) > 1 && scriptNames()[args[1]] != "" {
		return scriptNames()[args[1]]
	}
	if name := unguarded.Replaces(args); name != "" {
		return name
	}
	return strings.ToUpper(args[0])
}

// RequestName is ScriptName for any Commit: a native command gets the name of the script with the
// same job.
func RequestName(args []string) string {
	if name := ScriptName(args); name != strings.ToUpper(args[0]) || len(args) < 2 {
		return name
	}
	isLock := strings.HasPrefix(args[1], defaultPrefix)
	switch verb := args[0]; {
	case strings.HasPrefix(args[1], driver.HintPrefix):
		return "hint"
	case verb == "get" || verb == "getex":
		return "read"
	case verb == "pttl" || verb == "type":
		return "inspect"
	case verb == "delex", verb == "delifeq", verb == "delvx", verb == "cad":
		if isLock {
			return "release"
		}
		return "commit_string"
	case verb == "cas" && isLock && args[2] == args[3], verb == "set" && isLock && len(args) > 4 && args[2] == args[4]:
		return "renew"
	case verb == "set" && len(args) > 3 && slices.Contains([]string{"ifeq", "vx", "nx"}, args[3]), verb == "cas":
		if isLock {
			return "acquire"
		}
		return "commit_string" // any other SET is one of a WATCH writer
	}
	return strings.ToUpper(args[0])
}
