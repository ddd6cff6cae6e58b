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

// Child is a worker, as the bench sees it.
type Child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// Start starts a child of the given program and gives it its job. The child ends
// with ctx.
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

// PID is the child's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Ready returns when the child is prepared.
func (c *Child) Ready() (Ready, error) {
	var r Ready
	return r, c.read(&r)
}

// Go lets the child begin.
func (c *Child) Go() error {
	_, err := io.WriteString(c.stdin, "go\n")
	return err
}

// Answer returns the result.
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
		c.Stop() // so that stderr is complete
		return &CrashError{c.stderr.String()}
	}
	return json.Unmarshal(line, into)
}

// Stop ends the child, wherever it is. Stopping twice is harmless.
func (c *Child) Stop() {
	_ = c.stdin.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // killed is how it is meant to end
}

// CrashError is what a child that ended before its time wrote to stderr.
type CrashError struct{ Stderr string }

func (e *CrashError) Error() string {
	text := strings.TrimSpace(e.Stderr)
	return fmt.Sprintf("a worker process ended: %.600s", text)
}
