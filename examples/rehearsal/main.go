// Rehearsal plays a whole migration in one command: a chat service that uses
// WATCH, the proxy that refuses it, the same service on lock-guarded updates, what
// the guard is good for, and the shadow that compares both paths, and finds the bugs
// that are planted in one. It needs no server and no flags:
//
//	go run ./examples/rehearsal
//
// With -legacy and -proxy it does the same on real servers, with -events on a
// stream of your own. No key is ever written outside of a random prefix, those of the
// shadow included, and what is written expires. The reports of the shadow are the only
// files that it writes: into a new folder among the temporary files, or as -report says.
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
	// go-redis logs connections on which a proxy has refused a command. The errors say the
	// same, and are shown.
	logging.Disable()
	if cfg.proxy == "" {
		// The in-process engine leaves a Lua interpreter behind for each script:
		// collect them less often.
		debug.SetGCPercent(400)
	}
	return run(ctx, cfg, os.Stdout, os.Stderr)
}
