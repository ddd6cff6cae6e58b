package lockupdate

import (
	"context"
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/acquire.lua
var acquireSource string

//go:embed lua/renew.lua
var renewSource string

//go:embed lua/release.lua
var releaseSource string

//go:embed lua/read.lua
var readSource string

//go:embed lua/inspect.lua
var inspectSource string

//go:embed lua/token.lua
var tokenSource string

//go:embed lua/commit_string.lua
var commitStringSource string

//go:embed lua/commit_hash.lua
var commitHashSource string

// script is a Lua script on one key.
type script struct {
	source, sha string
	digest      any // sha, ready to be an argument
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source)) // what EVALSHA wants
	sha := hex.EncodeToString(sum[:])
	return &script{source: source, sha: sha, digest: sha}
}

var (
	acquireScript      = newScript(acquireSource)
	renewScript        = newScript(renewSource)
	releaseScript      = newScript(releaseSource)
	readScript         = newScript(readSource)
	inspectScript      = newScript(inspectSource)
	tokenScript        = newScript(tokenSource)
	commitStringScript = newScript(commitStringSource)
	commitHashScript   = newScript(commitHashSource)
)

// call is one script to be run on one key. Nothing else can be sent.
type call struct {
	script *script
	key    string
	args   []any // of the whole command
	cmd    *command
}

// The arguments before those of the script: the command, the script, the number of
// keys and the key.
const header = 4

func (s *script) on(key string, args ...any) *call {
	c := &call{script: s, key: key, args: make([]any, header, header+len(args))}
	c.args[2], c.args[3] = 1, key
	c.args = append(c.args, args...)
	return c
}

// arm makes the command anew: by digest, or with the whole source for a backend
// that does not know it.
func (c *call) arm(ctx context.Context, whole bool) *command {
	args := c.args
	if args[0], args[1] = "evalsha", c.script.digest; whole {
		args = append([]any{"eval", c.script.source}, args[2:]...) // hooks may have kept the first
	}
	c.cmd = &command{redis.NewCmd(ctx, args...)}
	return c.cmd
}

// reply returns the script's answer as a list.
func (c *call) reply() ([]any, error) {
	if err := c.cmd.Err(); err != nil {
		return nil, err
	}
	if list, ok := c.cmd.Val().([]any); ok && len(list) > 0 {
		return list, nil
	}
	return nil, errOddReply
}

// number returns the script's answer as an integer.
func (c *call) number() (int64, error) { return c.cmd.Int64() }

// command is a command that go-redis must not repeat on its own: by default it
// runs a script up to four times when answers are slow.
type command struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (*command) NoRetry() bool { return true }
