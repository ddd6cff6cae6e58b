package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestNutcrackerForwardsToItsBackends(t *testing.T) {
	a, b := Redis(t), Redis(t)
	proxy := Nutcracker(t, []string{a.Addr, b.Addr}, 1)
	for i := range 64 {
		// The distinguishing part comes first: fnv1a_64 puts keys that differ only at their end next to
		// each other on the ring.
		if got := ask(t, proxy.Addr, "SET", fmt.Sprintf("%d:members", i), "v"); got != "+OK" {
			t.Fatalf("SET answered %q", got)
		}
	}
	onA, onB := ask(t, a.Addr, "DBSIZE"), ask(t, b.Addr, "DBSIZE")
	if onA == ":0" || onB == ":0" {
		t.Fatalf("the keys are not spread: %s and %s", onA, onB)
	}
}

func TestNutcrackerNeedsABackend(t *testing.T) {
	if _, err := StartNutcracker(t.Context(), t.TempDir(), nil, 1); err == nil {
		t.Fatal("started without a backend")
	}
}

// Another process takes a free port before the server binds it. It may even answer as the server would, so
// an answer is not enough.
func TestTakenPortIsTriedAgain(t *testing.T) {
	redis := Redis(t)
	const config = "global: {scrape_interval: 1s}\n"
	for _, test := range []struct {
		taken *Server
		launch
	}{
		{redis, redisLaunch(t.TempDir(), nil)},
		{redis, nutcrackerLaunch(t.TempDir(), []string{redis.Addr}, 1)},
		{Prometheus(t, config), prometheusLaunch(t.TempDir(), config)},
	} {
		t.Run(test.program, func(t *testing.T) {
			calls := 0
			test.freePorts = func(n int) ([]int, error) {
				ports, err := freePorts(n)
				if calls++; calls == 1 {
					ports[0] = portOf(t, test.taken.Addr)
				}
				return ports, err
			}
			s := use(t, test.start)
			if s.Addr == test.taken.Addr || calls != 2 {
				t.Fatalf("%d tries, and took %s for ours", calls, s.Addr)
			}
		})
	}
}

// The ports of all members change, since each knows those of the others.
func TestTakenPortIsRetried(t *testing.T) {
	taken := portOf(t, Redis(t).Addr)
	e, calls := etcdEnsemble(3), 0
	e.freePorts = func(n int) ([]int, error) {
		ports, err := freePorts(n)
		if calls++; calls == 1 {
			ports[3] = taken
		}
		return ports, err
	}
	useAs(t, func(ctx context.Context) ([]*Server, error) { return e.start(ctx, t.TempDir()) }, stopAll)
	if calls != 2 {
		t.Fatalf("%d tries", calls)
	}
}

func TestPortsAlwaysTakenAreAnError(t *testing.T) {
	taken := Redis(t)
	l, calls := redisLaunch(t.TempDir(), nil), 0
	l.freePorts = func(int) ([]int, error) { calls++; return []int{portOf(t, taken.Addr)}, nil }
	_, err := l.start(t.Context())
	if !errors.Is(err, errExited) || calls != startTries {
		t.Fatalf("%d tries, error %v", calls, err)
	}
	if !strings.Contains(err.Error(), "in use") {
		t.Fatalf("the error hides the log of the server: %v", err)
	}
}

// Pdeathsig ends the server of a killed test.
func TestServerDiesWithAKilledTest(t *testing.T) {
	if os.Getenv("UNWATCH_START_AND_HANG") == "1" {
		s := Redis(t)
		s.Stop()
		if err := s.Restart(t.Context()); err != nil { // Pdeathsig must hold after a restart, too
			t.Fatal(err)
		}
		fmt.Println("ADDR " + s.Addr)
		<-t.Context().Done() // until this process is killed
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties the life of a child to its parent")
	}
	probe := Redis(t) // skips if the program is missing
	probe.Stop()

	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "UNWATCH_START_AND_HANG=1", "TMPDIR="+t.TempDir())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	addr := ""
	for lines := bufio.NewScanner(out); addr == "" && lines.Scan(); {
		addr, _ = strings.CutPrefix(lines.Text(), "ADDR ")
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("the child started no server at %q: %v", addr, err)
	}
	defer func() { _ = conn.Close() }()
	_ = child.Process.Kill()
	_ = child.Wait()

	// The end of the server ends the connection to it.
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err = conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server outlived the test that started it")
	}
}

// ask sends one command and returns the first line of the reply.
func ask(t *testing.T, addr string, args ...string) string {
	t.Helper()
	reply, err := do(t.Context(), addr, args...)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(reply), "\r\n")
	return line
}

// again kills and restarts the server, and checks Done of both processes.
func again(t *testing.T, s *Server) {
	t.Helper()
	old, pid := s.Done(), s.PID()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, old)
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
		t.Fatal("the restarted server counts as ended")
	default:
	}
	await(t, old)
	if s.PID() == pid {
		t.Fatal("the process is the old one")
	}
}

// until waits for a condition that holds soon.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := poll(ctx, func() error {
		if ok() {
			return nil
		}
		return errors.New("not yet")
	}); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func await(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("did not end within 10 s")
	}
}

func portOf(t *testing.T, addr string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}
