// Flashsale sells the stock of one item from several processes at once, through a
// Codis-style proxy: first naively with GET and SET, then with package lockupdate.
// Every order is looked up afterwards in what is stored. It needs no server and no
// flags:
//
//	go run ./examples/flashsale
//
// With -proxy it does the same through a real proxy. All keys that it writes there
// begin with a random prefix; they are deleted, or expire.
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
	// go-redis logs connections on which a proxy has refused a command. The errors say the
	// same, and are shown.
	logging.Disable()
	if os.Getenv(childEnv) != "" {
		// A terminal sends Ctrl-C to all processes. The parent gets it, and closes the
		// child's stdin: so the locks are given back, and the last receipts arrive.
		signal.Ignore(os.Interrupt)
		return childMain(os.Stdin, os.Stdout, os.Stderr)
	}
	cfg, code, ok := parseFlags(args, os.Stderr)
	if !ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if cfg.proxy == "" {
		// The in-process engine leaves a Lua interpreter behind for each script:
		// collect them less often.
		debug.SetGCPercent(400)
	}
	return run(ctx, cfg, os.Stdout, os.Stderr)
}
