package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Child is a worker process, seen from the bench.
type Child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// Start starts a child of the given program with a job. The child ends with ctx.
func Start(ctx context.Context, program string, job Job) (*Child, error) {
	c := &Child{cmd: exec.CommandContext(ctx, program, Argument)}
	c.cmd.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdout = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := json.NewEncoder(c.stdin).Encode(job); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// PID returns the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Ready waits until the child is prepared.
func (c *Child) Ready() (Ready, error) {
	var r Ready
	return r, c.read(&r)
}

// Go starts the measurement.
func (c *Child) Go() error {
	_, err := io.WriteString(c.stdin, "go\n")
	return err
}

// Answer waits for the result.
func (c *Child) Answer() (Answer, error) {
	var a Answer
	err := c.read(&a)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	return a, err
}

func (c *Child) read(into any) error {
	line, err := c.stdout.ReadBytes('\n')
	if err != nil {
		c.Stop() // completes stderr
		return &CrashError{c.stderr.String()}
	}
	return json.Unmarshal(line, into)
}

// Stop kills the child. A second call has no effect.
func (c *Child) Stop() {
	_ = c.stdin.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // the error says only that it was killed
}

// CrashError is the stderr of a child that ended early.
type CrashError struct{ Stderr string }

func (e *CrashError) Error() string {
	text := strings.TrimSpace(e.Stderr)
	return fmt.Sprintf("a worker process ended: %.600s", text)
}
