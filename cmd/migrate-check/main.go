// Migrate-check says what a service has to change before a Redis proxy that refuses
// WATCH comes between it and its servers.
//
//	migrate-check probe codis-proxy:19000
//	migrate-check shadow desk-*.json
//
// Each subcommand has its own -h.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
