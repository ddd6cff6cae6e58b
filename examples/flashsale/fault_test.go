package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// commit matches the command that writes the sale: a script on its key with more
// arguments than a read has. A sale of small has ten of them at least, as a commit is
// for no more updates than a process has workers.
func commit(args []string) bool {
	return len(args) > 5 && args[3] == "test:"+unwatchRound
}

// The negative control of the whole program: a server that forgets a write that it
// has acknowledged.
func TestBrokenPromiseIsReported(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t, "-round", unwatchRound)
	p.Inject(proxytest.Fault{
		Command: "EVALSHA", Match: commit, Skip: 3, Action: proxytest.DelayReply,
		Do: func() { // after the commit was executed and before it is answered
			var s sale
			raw, err := p.Engine(0).Get("test:" + unwatchRound)
			if assert.NoError(t, err) && assert.NoError(t, json.Unmarshal([]byte(raw), &s)) && assert.NotEmpty(t, s.Orders) {
				s.Left++
				s.Orders = s.Orders[:len(s.Orders)-1]
				forgotten, _ := json.Marshal(s)
				assert.NoError(t, p.Engine(0).Set("test:"+unwatchRound, string(forgotten)))
			}
		},
	})
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code, out+errs)
	assert.Contains(t, out, "VERDICT: unwatch: A PROMISE WAS BROKEN.")
	assert.Contains(t, out, "   1 more sold than there were\n")
	assert.Contains(t, out, "   1 told \"sold\", and not stored\n")
	assert.Contains(t, out, "   1 sold an item that another has bought\n")
}

// Ctrl-C, wherever it comes: before the first order, in either round.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault proxytest.Fault
		want  string
	}{
		{"at once", proxytest.Fault{}, ""},
		{"while they start", proxytest.Fault{Command: "PING", Skip: 2}, ""}, // the first is the parent's
		{"naive", proxytest.Fault{Command: "SET", Skip: 10}, "NAIVE"},
		{"unwatch", proxytest.Fault{Command: "EVALSHA", Match: commit, Skip: 5}, "UNWATCH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, p := behind(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if tt.fault.Do = cancel; tt.fault.Command == "" {
				cancel()
			}
			p.Inject(tt.fault)
			code, out, errs := played(t, ctx, cfg)
			assert.Equal(t, exitInterrupted, code)
			assert.Empty(t, errs)
			assert.True(t, strings.HasSuffix(out, "Interrupted.\n"), out)
			assert.NotContains(t, out, "VERDICT")
			assert.Empty(t, p.Engine(0).Keys(), "keys left behind")
			if tt.want == "" {
				assert.NotContains(t, out, "sold ")
				return
			}
			_, shown, found := strings.Cut(out, tt.want+": ")
			require.True(t, found, out)
			assert.Regexp(t, `unfinished +\d+ of 40 orders were answered\n`, shown)
			if tt.want == "UNWATCH" {
				assert.Contains(t, shown, "every sold order, once")
				assert.NotContains(t, shown, "broken")
			}
		})
	}
}

// The same with a signal, from outside.
func TestSignal(t *testing.T) {
	t.Parallel()
	_, p := behind(t)
	program, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-proxy", p.Addr(), "-processes", "2", "-workers", "2", "-stock", "400", "-round", "unwatch")
	cmd.Env = append(os.Environ(), programEnv+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	selling := make(chan struct{})
	p.Inject(proxytest.Fault{Command: "EVALSHA", Skip: 60, Do: func() { close(selling) }})
	require.NoError(t, cmd.Start())
	select {
	case <-selling:
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
	case <-ctx.Done():
	}
	err = cmd.Wait()
	require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), "%v\n%s", err, out.String())
	assert.Regexp(t, `unfinished +\d+ of 800 orders were answered\n`, out.String())
	assert.True(t, strings.HasSuffix(out.String(), "Interrupted.\n"), out.String())
	assert.Empty(t, p.Engine(0).Keys(), "keys left behind")
}

// One process dies: the others are stopped, and it is said which.
func TestProcessDies(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t, "-round", unwatchRound)
	var children family
	cfg.started = children.add
	p.Inject(proxytest.Fault{Command: "EVALSHA", Match: commit, Skip: 5, Do: func() {
		victim, err := os.FindProcess(children.all()[1])
		if assert.NoError(t, err) {
			assert.NoError(t, victim.Kill())
		}
	}})
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code, out)
	assert.Contains(t, errs, "round unwatch: process 2 ended before its work did: signal: killed")
	assert.Empty(t, children.alive(t))
}

// A proxy that stops answering in the middle of a round.
func TestTimeout(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t, "-round", unwatchRound, "-timeout", "1s")
	p.Inject(proxytest.Fault{Command: "EVALSHA", Match: commit, Skip: 3, Action: proxytest.HangRequest, Times: -1})
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code, out)
	assert.Contains(t, errs, "round unwatch: the round was not over after 1s; use a longer -timeout")
	assert.Contains(t, out, "unfinished")
}

// A proxy that refuses every write: the processes give up.
func TestEveryOrderFails(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t, "-round", naiveRound)
	p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.RefuseWith, Text: "ERR out of order", Times: -1})
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code, out)
	assert.Contains(t, errs, "given up after 20 failed orders, the last: ERR out of order")
	assert.Regexp(t, `errors +\d+ failed, 0 unclear; the first: ERR out of order\n`, out)
}
