package probe

import (
	"crypto/rand"
	"strings"
)

// homes is how many tags the probe spreads its keys over.
const homes = 16

// keyring makes keys, and remembers all that may be written to. It is used by one goroutine at a time.
type keyring struct {
	prefix string
	homes  []string // tags of keys that the address accepts
	used   map[string]bool
	bare   map[string]bool // written to since an expiry was last acknowledged
	late   map[string]bool // a write that failed may yet be executed
}

func newKeyring(prefix string) *keyring {
	return &keyring{prefix: prefix, used: map[string]bool{}, bare: map[string]bool{}, late: map[string]bool{}}
}

// tagged is the key of that name with that tag: keys of one tag are together wherever
// tags count.
func (k *keyring) tagged(tag, name string) string {
	return k.keep(k.prefix + "{" + tag + "}" + name)
}

// home is the key of that name with the i-th tag that the address accepts.
func (k *keyring) home(i int, name string) string {
	return k.tagged(k.homes[i%len(k.homes)], name)
}

// loose is a new key without a tag, anywhere, that nothing is written to.
func (k *keyring) loose() string { return k.prefix + newTag() }

func (k *keyring) keep(key string) string {
	k.used[key] = true
	return key
}

// newTag is random, and long: proxies hash keys that differ in their last byte only onto
// the same server.
func newTag() string { return strings.ToLower(rand.Text()[:16]) }
