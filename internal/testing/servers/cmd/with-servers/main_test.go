package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"testing"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// asCommand is an environment variable that makes this test binary act as the command: it prints its
// arguments and obeys the variable's value.
const asCommand = "UNWATCH_TEST_COMMAND"

func TestMain(m *testing.M) {
	role := os.Getenv(asCommand)
	if role == "" {
		os.Exit(m.Run())
	}
	for _, arg := range os.Args[1:] {
		fmt.Println(arg, reachable(arg))
	}
	if code, ok := strings.CutPrefix(role, "interrupt "); ok {
		// The parent is with-servers (or its test): interrupt it, and wait for the forwarded signal.
		back := make(chan os.Signal, 1)
		signal.Notify(back, os.Interrupt)
		parent, err := os.FindProcess(os.Getppid())
		if err != nil || parent.Signal(os.Interrupt) != nil {
			os.Exit(1)
		}
		<-back
		os.Exit(int(code[0] - '0'))
	}
	os.Exit(0)
}

func reachable(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func needServers(t *testing.T) {
	t.Helper()
	servers.Nutcracker(t, []string{servers.Redis(t).Addr}, 1)
}

func TestServersEndWithCommand(t *testing.T) {
	needServers(t)
	t.Setenv(asCommand, "succeed")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{
		"-redis", "3", "-nutcracker", "2", "-cluster", "3", "--",
		os.Args[0], "{redis0}", "{redis2}", "{nutcracker1}", "{cluster2}", "chat:{room}",
	}, nil, &out, &errs)
	if code != 0 {
		t.Fatalf("code %d: %s", code, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 || lines[4] != "chat:{room} false" {
		t.Fatalf("the command was given %q", lines)
	}
	for _, line := range lines[:4] {
		addr, up, _ := strings.Cut(line, " ")
		if up != "true" {
			t.Errorf("%s was not up while the command ran", addr)
		}
		if reachable(addr) {
			t.Errorf("%s is still up after the command", addr)
		}
	}
}

func TestInterruptIsForwarded(t *testing.T) {
	needServers(t)
	for _, want := range []int{7, 0} {
		t.Setenv(asCommand, fmt.Sprint("interrupt ", want))
		ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
		defer stop()
		if code := run(ctx, []string{"-redis", "1", "--", os.Args[0]}, nil, io.Discard, io.Discard); code != want {
			t.Fatalf("code %d, want the command's %d after it saw the signal", code, want)
		}
	}
}

func TestTroubleIsReported(t *testing.T) {
	needServers(t)
	tests := map[string]struct {
		args []string
		want string
	}{
		"no command":       {[]string{"-redis", "1"}, "no command"},
		"no backend":       {[]string{"-redis", "1", "-nutcracker", "1", "--", "true"}, "-redis 2 or more"},
		"small cluster":    {[]string{"-cluster", "2", "--", "true"}, "at least 3 masters"},
		"no such server":   {[]string{"-redis", "1", "--", "echo", "{redis1}"}, "only 1 redis started"},
		"no such command":  {[]string{"--", "/no/such/command"}, "no such file"},
		"no such argument": {[]string{"-mysql", "1"}, "not defined"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			if code := run(t.Context(), test.args, nil, io.Discard, &errs); code != codeTrouble {
				t.Errorf("code %d, want %d", code, codeTrouble)
			}
			if !strings.Contains(errs.String(), test.want) {
				t.Errorf("said %q, want %q", errs.String(), test.want)
			}
		})
	}
}
