package main

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every subcommand that connects ends soon after a signal, although a server accepts and never answers, with and
// without TLS. The limit of a second is not measured here, where tests share the machine.
func TestSignalEndsEverySubcommand(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	addr := silent.Addr().String()
	commands := []string{
		"probe ADDR", "live ADDR", "live ADDR -monitor",
	}
	for _, action := range []string{
		"status", "advance -percent 5", "advance -percent 5 -dry-run", "freeze", "reverse", "plan", "plan -monitor 1m", "sweep", "verify",
	} {
		name, flags, _ := strings.Cut(action, " ")
		commands = append(commands, "cutover "+name+" -name desk -old ADDR -new ADDR -timeout 1h "+flags)
	}
	for _, command := range commands {
		for _, flags := range []string{"", " -tls-skip-verify"} {
			t.Run(command+flags, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(100*time.Millisecond, cancel)
				ended := make(chan int, 1)
				go func() {
					args := strings.Fields(strings.ReplaceAll(command+flags, "ADDR", addr))
					ended <- runUntil(ctx, args, io.Discard, io.Discard)
				}()
				select {
				case code := <-ended:
					assert.NotEqual(t, codeOK, code)
				case <-time.After(4 * time.Second): // less than any limit of a client
					t.Fatal("it goes on after the signal")
				}
			})
		}
	}
}
