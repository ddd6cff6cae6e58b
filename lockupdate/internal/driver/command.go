package driver

import (
	"context"
	"embed"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
)

// Command is one command on one key. After it was sent, it holds the reply.
type Command struct {
	script *script // nil: a native command
	key    string
	args   []any           // of the whole command
	few    [header + 4]any // args, unless there are more
	cmd    *redisx.Command
	first  redisx.Command // cmd points to it the first time
	word   *redisx.Word   // of cmd; nil: a command without a place for it, which only reads
	sha    redisx.Word    // word points to it, unless a script is sent whole

	built   time.Time // when Build was called first
	ticket  *Ticket   // of the caller, in a flush of several callers; or nil
	replied atomic.Bool

	// Urgent commands are sent even while the circuit breaker is open.
	Urgent bool
	// Reads marks a command that changes nothing.
	Reads bool
	// Once marks a command that must not be sent again if its reply is lost.
	Once bool
	// Doubled marks a command that was sent twice, as the first reply did not come: the first one may run later.
	Doubled bool
}

// newCommand returns a native command.
func newCommand(name, key string, args ...any) *Command {
	c := &Command{key: key}
	c.args = append(append(c.few[:0], name, key), args...)
	if len(args) > 0 {
		if text, ok := args[0].(string); ok {
			c.word = &c.sha
			c.word.Set(text, nil, "(value)")
			c.args[2] = c.word
		}
	}
	return c
}

// PTTL asks for the expiry of a key. [Command.Integer] reads the reply.
func PTTL(key string) *Command { return newCommand("pttl", key) }

func (c *Command) urgent() *Command {
	c.Urgent = true
	return c
}

// Build makes a new go-redis command: a script by its digest, or, if whole, with its
// source. A hook of the client may keep earlier commands, so that none is changed.
func (c *Command) Build(ctx context.Context, whole bool) redis.Cmder {
	if c.built.IsZero() {
		c.built = time.Now()
	}
	args := c.args
	switch {
	case whole && c.script != nil:
		c.word = new(redisx.Word)
		c.word.Set(c.script.source, c.script.bytes, c.script.name)
		args = append([]any{"eval", c.word}, args[2:]...)
	case args[0] == nil:
		c.word = &c.sha
		c.word.Set(c.script.digest, c.script.digestBytes, c.script.name)
		args[0], args[1] = "evalsha", c.word
	}
	if c.cmd == nil {
		c.cmd = &c.first
	} else {
		c.cmd = new(redisx.Command)
	}
	if c.ticket != nil {
		c.ticket.expect(c)
		c.cmd.Replied = c
	}
	c.cmd.Cmd = redis.NewCmd(ctx, args...)
	return c.cmd
}

// Built reports whether Build was called, so that there can be a reply.
func (c *Command) Built() bool { return c.cmd != nil }

// Sent returns a time before which the command was certainly not sent: that of the first Build, which follows any wait of this process
// for a turn. It is the zero time if the command was never built.
func (c *Command) Sent() time.Time { return c.built }

// Key returns the key of the command.
func (c *Command) Key() string { return c.key }

// Err returns the error of the command, which may be an error reply.
func (c *Command) Err() error { return c.cmd.Err() }

// SetErr replaces the reply by an error, or removes the error.
func (c *Command) SetErr(err error) { c.cmd.SetErr(err) }

// Unsent reports whether the command, which has failed, was certainly not sent.
func (c *Command) Unsent() bool { return c.word != nil && c.word.Unsent(c.cmd.Args()) }

// HasReply reports whether the command has a reply, even if it has an error as well. A
// reply that was cut in the middle leaves the zero of its type, which does not count.
func (c *Command) HasReply() bool {
	switch v := c.cmd.Val().(type) {
	case string:
		return v != ""
	case int64:
		return v != 0
	case []any:
		return v != nil
	case map[any]any:
		return v != nil
	}
	return false
}

// Empty reports whether there is neither a reply nor an error.
func (c *Command) Empty() bool { return c.cmd.Err() == nil && c.cmd.Val() == nil }

//go:embed lua
var sources embed.FS

// script is a Lua script on one key.
type script struct {
	name, source, digest string
	bytes, digestBytes   []byte // converted once, so that a command does not allocate them
}

func newScript(name string) *script {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // no such file
	}
	return scriptOf(name, string(text))
}

func scriptOf(name, source string) *script {
	digest := redis.NewScript(source).Hash()
	return &script{name: name, source: source, digest: digest, bytes: []byte(source), digestBytes: []byte(digest)}
}

var (
	acquireScript       = newScript("acquire")
	renewScript         = newScript("renew")
	releaseScript       = newScript("release")
	releaseNotifyScript = newScript("release_notify")
	readScript          = newScript("read")
	peekScript          = newScript("peek")
	inspectScript       = newScript("inspect")
	tokenScript         = newScript("token")
	commitStringScript  = newScript("commit_string")
	commitHashScript    = newScript("commit_hash")
)

// Scripts returns the source of each script by its name.
func Scripts() map[string]string {
	all := map[string]string{}
	for _, s := range []*script{
		acquireScript, renewScript, releaseScript, releaseNotifyScript, readScript, peekScript, inspectScript,
		tokenScript, commitStringScript, commitHashScript, takeScript, openScript, lookScript, askScript, listScript,
	} {
		all[s.name] = s.source
	}
	return all
}

// header counts the arguments before those of the script: the command, the script, the
// number of keys and the key.
const header = 4

func (s *script) on(key string, args ...any) *Command {
	c := &Command{script: s, key: key}
	c.args = append(append(c.few[:0], nil, nil, 1, key), args...)
	return c
}

// expiryOf returns an rmw.Key.TTL as the scripts take it.
func expiryOf(ttl time.Duration) any {
	switch {
	case ttl == 0:
		return "keep"
	case ttl < 0:
		return "none"
	}
	return strconv.FormatInt(ttl.Milliseconds(), 10)
}
