package lockupdate

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
)

// Settle waits until s has no lock, and no release in flight.
func Settle(s *Store) {
	synctest.Wait()
	for d := time.Nanosecond; s.queues.Busy(); d = min(2*d, time.Millisecond) {
		time.Sleep(d)
		synctest.Wait()
	}
}

// Stall lets d pass on the clock of the leases, whose loop still sleeps.
func (s *Store) Stall(d time.Duration) { s.keeper.Stall(d) }

// Scripts returns the sources by name.
func Scripts() map[string]string { return driver.Scripts() }

// ScriptName tells which script an EVAL or EVALSHA runs, or which one package unguarded
// has replaced; other commands are returned by their own name.
func ScriptName(args []string) string {
	for name, source := range Scripts() {
		if len(args) > 1 && (args[1] == source || args[1] == fmt.Sprintf("%x", sha1.Sum([]byte(source)))) {
			return name
		}
	}
	if name := unguarded.Replaces(args); name != "" {
		return name
	}
	return strings.ToUpper(args[0])
}

// Said tells what a Store asks for by a command, whatever its Commit: the name of the
// script, or of the one that does the same.
func Said(args []string) string {
	if name := ScriptName(args); name != strings.ToUpper(args[0]) || len(args) < 2 {
		return name
	}
	isLock := strings.HasPrefix(args[1], defaultPrefix)
	switch verb := args[0]; {
	case strings.HasPrefix(args[1], driver.HintPrefix):
		return "note"
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
		return "commit_string" // and any other SET is that of somebody with WATCH
	}
	return strings.ToUpper(args[0])
}
