//go:build unix

package servers

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Only persisted data survives a kill.
func TestRestartKeepsPersistedData(t *testing.T) {
	tests := map[string]struct {
		options []string
		want    string
	}{
		"nothing":    {nil, "$-1"},
		"appendonly": {[]string{"--appendonly", "yes", "--appendfsync", "always"}, "$1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := Redis(t, test.options...)
			if got := ask(t, s.Addr, "SET", "k", "v"); got != "+OK" {
				t.Fatalf("SET answered %q", got)
			}
			again(t, s)
			if got := ask(t, s.Addr, "GET", "k"); got != test.want {
				t.Fatalf("GET answered %q, want %q", got, test.want)
			}
		})
	}
}

func TestRestartNeedsAnEndFirst(t *testing.T) {
	s := Redis(t)
	pid := s.PID()
	if err := s.Restart(t.Context()); !errors.Is(err, ErrRunning) || s.PID() != pid {
		t.Fatalf("process %d is %d, error %v", pid, s.PID(), err)
	}
	s.Stop()
	if err := s.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("killed a dead server: %v", err)
	}
	if err := s.Signal(os.Kill); !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("signalled a dead server: %v", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The ctx of a restart limits the wait only. The server lives until the end of its first ctx.
func TestRestartedServerEndsWithItsFirstContext(t *testing.T) {
	Redis(t) // skips if the program is missing
	life, end := context.WithCancel(t.Context())
	defer end()
	s, err := StartRedis(life, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	wait, cancel := context.WithCancel(t.Context())
	if err := s.Restart(wait); err != nil {
		t.Fatal(err)
	}
	cancel()
	if got := ask(t, s.Addr, "PING"); got != "+PONG" {
		t.Fatalf("the restarted server ended with the wait: %q", got)
	}
	end()
	await(t, s.Done())
	if err := s.Restart(t.Context()); !errors.Is(err, context.Canceled) {
		t.Fatalf("restarted after its time: %v", err)
	}
}

// A failed restart leaves no process, and the next one may succeed.
func TestRestartWithoutTimeCanBeRepeated(t *testing.T) {
	s := Redis(t)
	s.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Restart(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("ready without time: %v", err)
	}
	await(t, s.Done())
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Of many concurrent restarts, one starts the server. The race detector checks the rest.
func TestRestartsDoNotRace(t *testing.T) {
	s := Redis(t)
	for range 3 {
		old := s.Done()
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() { errs[i] = s.Restart(t.Context()) })
			wg.Go(func() { _, _ = s.PID(), s.Signal(syscall.SIGCONT) })
			wg.Go(func() { <-old })
		}
		wg.Wait()
		started := 0
		for _, err := range errs {
			if err == nil {
				started++
			} else if !errors.Is(err, ErrRunning) {
				t.Error(err)
			}
		}
		if started != 1 {
			t.Fatalf("%d of the restarts started the server", started)
		}
	}
}

func TestPausedServerAnswersAfterItsPause(t *testing.T) {
	s := Redis(t)
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if v, err := do(short, s.Addr, "PING"); err == nil {
		t.Fatalf("answered %q while it was paused", v.Word())
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s.Addr, "PING"); got != "+PONG" {
		t.Fatalf("answered %q", got)
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	again(t, s) // a kill ends a paused server, too
}
