// With-servers runs a command against real servers, which it starts before and stops after the command:
//
//	with-servers -redis 3 -nutcracker 2 -cluster 3 -- COMMAND {redis0} {nutcracker0} {cluster0}
//
// {redisN}, {nutcrackerN} and {clusterN} in the arguments become HOST:PORT. {redis0} is a single server;
// every nutcracker spreads its keys over all the other Redis servers; the cluster has separate masters. The
// exit code is that of the command.
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
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run returns the exit code, after every server has stopped.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("with-servers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	redis := flags.Int("redis", 1, "how many redis-server to start")
	nutcracker := flags.Int("nutcracker", 0, "how many nutcracker to start over all Redis servers but the first")
	cluster := flags.Int("cluster", 0, "how many masters of a Redis Cluster to start, 0 or at least 3")
	connections := flags.Int("connections", 1, "connections of a nutcracker to each of its backends")
	if err := flags.Parse(args); err != nil {
		return codeTrouble
	}
	code, err := with(plan{*redis, *nutcracker, *connections, *cluster}, flags.Args(), func(cmd *exec.Cmd) {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	})
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "with-servers:", err)
	}
	return code
}

// plan is the number of servers of each kind.
type plan struct{ redis, nutcracker, connections, cluster int }

// with starts the servers, runs the command and stops the servers.
func with(p plan, command []string, attach func(*exec.Cmd)) (code int, err error) {
	if len(command) == 0 {
		return codeTrouble, errors.New("no command after --")
	}
	dir, err := os.MkdirTemp("", "unwatch-servers-")
	if err != nil {
		return codeTrouble, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	// From here on an interrupt must not end this process before the servers have stopped.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	var group group
	defer group.stop()
	if err := group.start(context.Background(), dir, p); err != nil {
		return codeTrouble, err
	}
	command, err = group.fill(command)
	if err != nil {
		return codeTrouble, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	attach(cmd)
	return supervise(cmd, signals)
}

// supervise runs cmd to its end and forwards every signal to it.
func supervise(cmd *exec.Cmd, signals <-chan os.Signal) (int, error) {
	if err := cmd.Start(); err != nil {
		return codeTrouble, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			_ = cmd.Process.Signal(sig) // the process may just have ended
		case err := <-ended:
			return exitCode(err)
		}
	}
}

// exitCode returns the code of the command. For a command ended by a signal it returns 128 plus the signal,
// as shells do.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return codeTrouble, err
	case exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return codeTrouble, err
}
