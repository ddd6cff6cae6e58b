// Rehearsal plays a whole migration in one command. It runs a chat service on WATCH, the proxy
// that refuses it, and the same service on lockupdate. It stalls processes with and without the
// guard. A shadow compares both paths and finds planted bugs. It needs no server and no flags:
//
//	go run ./examples/rehearsal
//
// With -legacy and -proxy it uses real servers. All keys, including those of the shadow, have a
// random prefix and expire. It writes no files except the reports of the shadow: into a new
// temporary folder, or as -report says.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
)

func main() { os.Exit(mainCode(os.Args[1:])) }

func mainCode(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	cfg, code, ok := parseFlags(args, os.Stderr)
	if !ok {
		return code
	}
	// go-redis logs connections on which a proxy refused a command. The errors are shown
	// anyway.
	logging.Disable()
	if cfg.proxy == "" {
		// The in-process engine allocates a Lua interpreter per script. Collect them less
		// often.
		debug.SetGCPercent(400)
	}
	return play(ctx, cfg, os.Stdout, os.Stderr)
}
