package main

import (
	"context"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// traffic counts what the client of one process sends. It is the innermost hook of the client, so
// it sees no command that another hook has refused. It excludes the handshake of a connection,
// which is not a cost of an update.
type traffic struct {
	stalls *stalls // may be nil; can stop the process
	keys   *keys   // every key that was sent

	mu       sync.Mutex
	gate     chan struct{} // if not nil, the process is frozen until it is closed
	trips    int           // a write and its reply, whether of one command or a pipeline
	commands int
	trace    [][]command // the writes since it was last taken, at most 16
}

// command is one command that was sent.
type command struct {
	name string // in upper case
	key  string // its first key, or ""
	args int    // number of words after the key
}

// DialHook implements redis.Hook.
func (t *traffic) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (t *traffic) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return t.write([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (t *traffic) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return t.write(cmds, func() error { return next(ctx, cmds) })
	}
}

// write sends commands, and waits before while the process is frozen.
func (t *traffic) write(cmds []redis.Cmder, send func() error) error {
	sent := make([]command, 0, len(cmds))
	for _, cmd := range cmds {
		switch c := commandOf(cmd); c.name {
		case "HELLO", "CLIENT", "AUTH", "SELECT":
		default:
			sent = append(sent, c)
			t.keys.add(c.key)
		}
	}
	t.mu.Lock()
	gate := t.gate
	t.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if len(sent) == 0 {
		return send()
	}
	overtaking := t.stalls.sending(t, sent)
	t.mu.Lock()
	t.trips++
	t.commands += len(sent)
	if len(t.trace) < 16 {
		t.trace = append(t.trace, sent)
	}
	t.mu.Unlock()
	err := send()
	if overtaking != nil && err == nil {
		t.stalls.overtaken(overtaking)
	}
	return err
}

// freeze stops all writes of the process until thaw is called.
func (t *traffic) freeze() (thaw func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gate := make(chan struct{})
	t.gate = gate
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.gate = nil
		close(gate)
	}
}

// take returns what was counted since the last call.
func (t *traffic) take() (trips, commands int, trace [][]command) {
	t.mu.Lock()
	defer t.mu.Unlock()
	trips, commands, trace = t.trips, t.commands, t.trace
	t.trips, t.commands, t.trace = 0, 0, nil
	return trips, commands, trace
}

func commandOf(cmd redis.Cmder) command {
	c, words, key := command{name: strings.ToUpper(cmd.Name())}, cmd.Args(), 1
	if strings.HasPrefix(c.name, "EVAL") {
		key = 3 // after the script and the number of keys
	}
	if len(words) > key {
		c.key, _ = words[key].(string)
		c.args = len(words) - key - 1
	}
	return c
}

// keys is a set of keys, to delete them at the end.
type keys struct {
	prefix string // keys without it are not ours
	mu     sync.Mutex
	sent   map[string]bool
}

func newKeys(prefix string) *keys { return &keys{prefix: prefix, sent: map[string]bool{}} }

func (k *keys) add(key string) {
	if !strings.HasPrefix(key, k.prefix) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sent[key] = true
}
