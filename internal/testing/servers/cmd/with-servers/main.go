// With-servers runs a command against real servers, which it starts before and stops after the command:
//
//	with-servers -redis 3 -nutcracker 2 -cluster 3 -- COMMAND {redis0} {nutcracker0} {cluster0}
//
// {redisN}, {nutcrackerN} and {clusterN} in the arguments become HOST:PORT. {redis0} is a single server;
// every nutcracker spreads its keys over all the other Redis servers; the cluster has separate masters. The
// exit code is that of the command, to which an interrupt is forwarded.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// codeTrouble is the exit code if with-servers itself failed.
const codeTrouble = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code, after every server has stopped.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("with-servers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	redis := flags.Int("redis", 1, "how many redis-server to start")
	nutcracker := flags.Int("nutcracker", 0, "how many nutcracker to start over all Redis servers but the first")
	cluster := flags.Int("cluster", 0, "how many masters of a Redis Cluster to start, 0 or at least 3")
	connections := flags.Int("connections", 1, "connections of a nutcracker to each of its backends")
	if err := flags.Parse(args); err != nil {
		return codeTrouble
	}
	err := with(plan{*redis, *nutcracker, *connections, *cluster}, flags.Args(), func(command []string) error {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Cancel = func() error {
			_ = cmd.Process.Signal(os.Interrupt)
			return os.ErrProcessDone // else Run returns the error of ctx in place of exit code 0
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
		return cmd.Run()
	})
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode()
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "with-servers:", err)
		return codeTrouble
	}
	return 0
}

// plan is the number of servers of each kind.
type plan struct{ redis, nutcracker, connections, cluster int }

// with starts the servers, runs the command with their addresses and stops the servers.
func with(p plan, command []string, execute func(command []string) error) (err error) {
	if len(command) == 0 {
		return errors.New("no command after --")
	}
	dir, err := os.MkdirTemp("", "unwatch-servers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	group := group{}
	defer group.stop()
	// An interrupt must not end the servers before the command.
	if err := group.start(context.Background(), dir, p); err != nil {
		return err
	}
	command, err = group.fill(command)
	if err != nil {
		return err
	}
	return execute(command)
}
