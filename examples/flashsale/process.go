package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// grace is how long a child may take to end by itself, giving back its locks.
const grace = 2 * time.Second

// process is a child, as its parent sees it.
type process struct {
	n      int
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
}

// startProcess starts this program once more, as a child, and gives it its job. It
// ends with ctx.
func startProcess(ctx context.Context, j job) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{n: j.Process, cmd: exec.CommandContext(ctx, program)}
	p.cmd.Env = append(os.Environ(), childEnv+"=1")
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = grace
	p.cmd.Cancel = func() error {
		_ = p.stdin.Close() // the child notices; who does not is killed after the grace
		return nil
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	// What cannot be written shows in what is read.
	_ = json.NewEncoder(p.stdin).Encode(j)
	return p, nil
}

// begin lets the child sell.
func (p *process) begin() { _, _ = io.WriteString(p.stdin, "go\n") }

// follow passes on what the child reports, and returns when it has ended.
func (p *process) follow(heard func(report)) error {
	var last report
	for {
		var r report
		if err := p.out.Decode(&r); err != nil {
			break
		}
		last = r
		heard(r)
	}
	_ = p.stdin.Close()
	err := p.cmd.Wait()
	switch {
	case last.Done && err == nil:
		return nil
	case last.Err != "":
		return fmt.Errorf("process %d: %s", p.n+1, last.Err)
	case err == nil:
		err = errors.New("it has left")
	}
	text := strings.TrimSpace(fmt.Sprintf("%.600s", p.stderr.String()))
	return fmt.Errorf("process %d ended before its work did: %w\n%s", p.n+1, err, text)
}
