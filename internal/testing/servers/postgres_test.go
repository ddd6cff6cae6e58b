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
	states := func() (all string) {
		for _, pid := range append(childrenOf(s.PID()), s.PID()) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if _, state, ok := strings.Cut(string(text), "\nState:\t"); ok { // it has not ended
				all += state[:1]
			}
		}
		return all
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	until(t, "all stand still", func() bool { return strings.Trim(states(), "TZ") == "" }) // or have ended
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	until(t, "all go on", func() bool { return !strings.Contains(states(), "T") })
}
