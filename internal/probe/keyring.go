package probe

import (
	"crypto/rand"
	"strings"
)

// homes is the number of tags that the keys are spread over.
const homes = 16

// keyring makes keys and records the written ones. It is for one goroutine at a time.
type keyring struct {
	prefix string
	homes  []string // tags of keys that the address accepts
	used   map[string]bool
	bare   map[string]bool // written since the last acknowledged expiry
	late   map[string]bool // a failed write may be executed late
}

func newKeyring(prefix string) *keyring {
	return &keyring{prefix: prefix, used: map[string]bool{}, bare: map[string]bool{}, late: map[string]bool{}}
}

// tagged returns the key with that name and tag. Keys with one tag are together if the proxy supports tags.
func (k *keyring) tagged(tag, name string) string {
	return k.keep(k.prefix + "{" + tag + "}" + name)
}

// home returns the key with that name and the i-th accepted tag.
func (k *keyring) home(i int, name string) string {
	return k.tagged(k.homes[i%len(k.homes)], name)
}

// loose returns a new key without a tag, for commands that do not write.
func (k *keyring) loose() string { return k.prefix + newTag() }

func (k *keyring) keep(key string) string {
	k.used[key] = true
	return key
}

// newTag returns a long random tag: some proxies hash keys that differ only in their last byte to one
// server.
func newTag() string { return strings.ToLower(rand.Text()[:16]) }
