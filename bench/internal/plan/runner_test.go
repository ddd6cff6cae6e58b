package plan

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/worker"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// TestMain lets the test binary be its own worker process.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == worker.Argument {
		if err := worker.Main(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func measure(t *testing.T, scenarios, impls string) *result.Results {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	r := &Runner{
		Program: program, Runs: 2, Repetitions: 1, Slot: 50 * time.Millisecond, Window: 600 * time.Millisecond, Shrink: 20,
		Scenarios: regexp.MustCompile("^(?:" + scenarios + ")$"), Impls: regexp.MustCompile("^(?:" + impls + ")$"),
		Progress: &progress,
	}
	f := &result.Results{RoundTrip: map[string]time.Duration{}}
	if err := r.Run(t.Context(), t.TempDir(), f); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	t.Log(progress.String())
	return f
}

// Over real servers, every implementation updates, stores exactly the acknowledged updates, and is
// measured.
func TestUpdates(t *testing.T) {
	servers.Redis(t).Stop() // skips or fails without a server
	f := measure(t, "unc8|hot4x16|d-unc1", ".*")
	if len(f.Slots) != 9+12+4+9 {
		t.Errorf("%d slots", len(f.Slots))
	}
	for i := range f.Slots {
		s := &f.Slots[i]
		if s.Impl == "rueidislock" && (s.Hung() > 0 || s.Refused != "") {
			continue // on a slow machine it waits for its own lock
		}
		if s.Refused != "" || s.Crashed != "" || s.Err() != "" {
			t.Errorf("%s %s: refused %q, crashed %q, error %q", s.Scenario, s.Impl, s.Refused, s.Crashed, s.Err())
			continue
		}
		if s.Done() == 0 || s.Lost() != 0 || s.Twice() != 0 || s.Stored != s.Done() {
			t.Errorf("%s %s: %d done, %d stored", s.Scenario, s.Impl, s.Done(), s.Stored)
		}
		if s.Server.Total() == 0 || s.Server.Reads == 0 || s.Server.Bytes == 0 || s.Client().CPU == 0 || s.Client().Allocs == 0 {
			t.Errorf("%s %s: an instrument shows nothing: %+v %+v", s.Scenario, s.Impl, s.Server, s.Client())
		}
	}
	if f.RoundTrip["delay"] < 2*time.Millisecond || f.Machine.Redis == "" {
		t.Errorf("round trips %v, machine %+v", f.RoundTrip, f.Machine)
	}
}

// Scenarios with several kinds of processes, shared keys and several runs have the load that their
// names say.
func TestShapes(t *testing.T) {
	servers.Redis(t).Stop()
	f := measure(t, "beside2x4|zipf64|unc1-bg|hot16x1", "watch|unwatch")
	runs := map[string]int{}
	for i := range f.Slots {
		s := &f.Slots[i]
		runs[s.Scenario] = max(runs[s.Scenario], s.Run)
		least := 2 * s.Done()
		if s.Scenario == "hot16x1" && s.Impl == "unwatch" { // updates of a process may follow each other under one lock
			least = s.Done()
		}
		if s.Done() == 0 || s.Stored != s.Done() || s.Commands() < least && s.Scenario != "zipf64" {
			t.Errorf("%s %s: %d done, %d stored, %d commands: %s", s.Scenario, s.Impl, s.Done(), s.Stored, s.Commands(), s.Err())
		}
		switch s.Scenario {
		case "beside2x4":
			if len(s.Workers) != 2 || len(s.Beside) != 2 || !(s.Part() >= 0 && s.Part() <= 1) {
				t.Errorf("%s: %d processes beside %d, with %v of the updates", s.Impl, len(s.Workers), len(s.Beside), s.Part())
			}
		case "hot16x1":
			if len(s.Workers) != 16 {
				t.Errorf("%s: %d processes", s.Impl, len(s.Workers))
			}
		}
	}
	if len(f.Slots) != 2+2+2+2*2 || runs["hot16x1"] != 2 || runs["beside2x4"] != 1 {
		t.Errorf("%d slots, runs %v", len(f.Slots), runs)
	}
}

// A command that the proxy refuses marks the slot as refused, and does not end the run.
func TestProxyRefusesWatch(t *testing.T) {
	backend := servers.Redis(t)
	servers.Nutcracker(t, []string{backend.Addr}, 1).Stop() // skips or fails without a server
	f := measure(t, "p-unc1", "watch|unwatch|rueidislock-nocsc")
	for i := range f.Slots {
		s := &f.Slots[i]
		if refused := s.Refused != ""; refused != (s.Impl == "watch") {
			t.Errorf("%s: refused %q", s.Impl, s.Refused)
		}
		if s.Stored != s.Done() {
			t.Errorf("%s: %d done, %d stored", s.Impl, s.Done(), s.Stored)
		}
	}
	if len(f.Slots) != 3 {
		t.Errorf("%d slots", len(f.Slots))
	}
}

// Locks are held, and every keeper except none renews them.
func TestHolds(t *testing.T) {
	servers.Redis(t).Stop()
	f := measure(t, "hold10k", "none|ticker|unwatch")
	if len(f.Holds) != 3 {
		t.Errorf("%d keepers", len(f.Holds))
	}
	for i := range f.Holds {
		h := &f.Holds[i]
		if h.Crashed != "" || h.Worker.Locks != 500 || h.Lost != 0 {
			t.Errorf("%s: crashed %q, %d locks, %d lost", h.Impl, h.Crashed, h.Worker.Locks, h.Lost)
		}
		if renews := h.Worker.Renewals > 0; renews != (h.Impl != "none") {
			t.Errorf("%s: %d renewals", h.Impl, h.Worker.Renewals)
		}
		// No sample means that the functions of the watchdog have new names. Package lockupdate
		// tests the size: here, renewals in flight are counted as well.
		if each := h.Worker.Watch / 500; h.Impl == "unwatch" && each < 20 {
			t.Errorf("the watch takes %d bytes a lock", each)
		}
	}
}

// Updates of several keys store each of them once.
func TestTogether(t *testing.T) {
	servers.Redis(t).Stop()
	f := measure(t, "four1|two64-10|twohot4x16", ".*")
	if len(f.Slots) != 3*4 {
		t.Errorf("%d slots", len(f.Slots))
	}
	for i := range f.Slots {
		s := &f.Slots[i]
		if s.Done() == 0 || s.Stored != s.Done() || s.Refused != "" || s.Err() != "" {
			t.Errorf("%s %s: %d done, %d stored, refused %q, error %q", s.Scenario, s.Impl, s.Done(), s.Stored, s.Refused, s.Err())
		}
	}
}
