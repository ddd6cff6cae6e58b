// Migrate-check finds the code that a service has to change before it moves behind a Redis proxy that refuses WATCH.
//
//	migrate-check ./...
//	migrate-check live redis:6379 -for 10m
//	migrate-check probe codis-proxy:19000
//	migrate-check shadow desk-*.json
//	migrate-check cutover status -name desk -old redis:6379 -new codis-proxy:19000
//
// Each subcommand has its own -h. As go vet -vettool=$(which migrate-check) it is a vet
// tool.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/all"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/guard"
)

func main() {
	if isVet(os.Args[1:]) {
		unitchecker.Main(guard.All(all.Analyzers())...) // it does not return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so a second Ctrl-C ends the program at once
	code := runUntil(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// isVet reports whether go vet runs the program: with a file that describes a package, or for its version and flags.
func isVet(args []string) bool {
	return len(args) > 0 && (strings.HasSuffix(args[len(args)-1], ".cfg") || args[0] == "-V=full" || args[0] == "-flags")
}
