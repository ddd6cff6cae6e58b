package lockupdate

import (
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
)

//go:embed lua/acquire.lua
var acquireSource string

//go:embed lua/renew.lua
var renewSource string

//go:embed lua/release.lua
var releaseSource string

//go:embed lua/release_notify.lua
var releaseNotifySource string

//go:embed lua/read.lua
var readSource string

//go:embed lua/peek.lua
var peekSource string

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
	name, source, sha string
	digest            any // sha, ready to be an argument
}

func newScript(name, source string) *script {
	sum := sha1.Sum([]byte(source)) // what EVALSHA wants
	sha := hex.EncodeToString(sum[:])
	return &script{name: name, source: source, sha: sha, digest: sha}
}

var (
	acquireScript       = newScript("acquire", acquireSource)
	renewScript         = newScript("renew", renewSource)
	releaseScript       = newScript("release", releaseSource)
	releaseNotifyScript = newScript("release_notify", releaseNotifySource)
	readScript          = newScript("read", readSource)
	peekScript          = newScript("peek", peekSource)
	inspectScript       = newScript("inspect", inspectSource)
	tokenScript         = newScript("token", tokenSource)
	commitStringScript  = newScript("commit_string", commitStringSource)
	commitHashScript    = newScript("commit_hash", commitHashSource)
)

// The arguments before those of the script: the command, the script, the number of
// keys and the key.
const header = 4

func (s *script) on(key string, args ...any) *call {
	c := &call{script: s, key: key, args: make([]any, header, header+len(args))}
	c.args[2], c.args[3] = 1, key
	c.args = append(c.args, args...)
	return c
}
