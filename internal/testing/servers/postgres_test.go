//go:build linux

package servers

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A pause stalls the processes of a PostgreSQL, of which each connection has one.
func TestPauseStallsChildren(t *testing.T) {
	t.Parallel()
	s := Postgres(t)
	until(t, "it has processes", func() bool { return len(childrenOf(s.PID())) > 0 })
	stalled := func() (stalled, all int) {
		for _, pid := range append(childrenOf(s.PID()), s.PID()) {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err == nil { // it has not ended
				all++
				stalled += strings.Count(string(text), "\nState:\tT")
			}
		}
		return stalled, all
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	until(t, "all stand still", func() bool { n, all := stalled(); return n == all })
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	until(t, "all go on", func() bool { n, _ := stalled(); return n == 0 })
}
