package servers

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// process is one run of a server.
type process struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc // kills the process
	done   chan struct{}
}

// startProcess starts a program that ends with ctx, and waits for its end in the background. flag selects
// how its log is opened.
func (l launch) startProcess(ctx context.Context, path string, args []string, log string, flag int) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND|flag, 0o600)
	if err != nil {
		return nil, err
	}
	p := &process{done: make(chan struct{})}
	ctx, p.cancel = context.WithCancel(ctx)
	p.cmd = exec.CommandContext(ctx, path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = l.dir, out, out
	dieWithUs(p.cmd)
	if l.setup != nil {
		if err := l.setup(p.cmd); err != nil {
			return nil, errors.Join(err, out.Close())
		}
	}

	started := make(chan error)
	go func() {
		// The kernel ties the life of the server to the thread that started it, so the thread must live as
		// long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		defer p.cancel()
		defer func() { _ = out.Close() }()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // being killed is the normal end
		}
	}()
	return p, <-started
}
