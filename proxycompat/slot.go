package proxycompat

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/keyhash"
)

// codisSlots is the number of slots of a Codis cluster.
const codisSlots = 1024

// clusterSlots is the number of slots of a Redis Cluster.
const clusterSlots = 16384

// hashRule is the method by which a proxy finds the server of a key.
type hashRule uint8

const (
	hashNone    hashRule = iota // one server has all keys
	hashCodis                   // by the CRC-32 of the key's hash tag
	hashCluster                 // by the CRC-16 of the key's hash tag
	hashConfig                  // by the key or its configured hash tag, onto any number of servers
)

// hashWords are the words of profile files.
var hashWords = [...]string{"none", "codis", "cluster", "config"}

func parseHash(s string) (hashRule, error) {
	i := slices.Index(hashWords[:], s)
	if i < 0 {
		return 0, fmt.Errorf("bad hash rule %q: want codis, cluster, config or none", s)
	}
	return hashRule(i), nil
}

func (h hashRule) String() string { return hashWords[h] }

// WithHashTag returns a copy of the profile for a proxy with these two hash tag characters, such as "{}"
// (twemproxy: hash_tag, predixy: HashTag, Envoy: enable_hashtagging). It returns an error if the proxy has
// a fixed rule, or accepts another number of characters.
func (p *Profile) WithHashTag(tag string) (*Profile, error) {
	switch {
	case p.hash != hashConfig:
		return nil, fmt.Errorf("proxycompat: the hash tag of %s cannot be configured", p.name)
	case len(tag) != 2:
		return nil, fmt.Errorf("proxycompat: bad hash tag %q: want the two characters around it, as in {}", tag)
	}
	c := *p
	c.tag = tag
	return &c, nil
}

// Tag returns the part of a key that the proxy hashes.
//
// Unlike the others, Codis accepts an empty hash tag: each key with "{" followed at once by "}" is in slot 0. Sources:
// codis release3.2 pkg/proxy/mapper.go (Hash), the Redis Cluster specification, nc_server.c of twemproxy and
// HashFunc.cpp of predixy.
func (p *Profile) Tag(key string) string {
	marks := p.tag
	switch p.hash {
	case hashCodis, hashCluster:
		marks = "{}"
	case hashNone:
		return key
	}
	if marks == "" {
		return key
	}
	_, rest, _ := strings.Cut(key, marks[:1])
	tag, _, found := strings.Cut(rest, marks[1:])
	if !found || tag == "" && p.hash != hashCodis {
		return key
	}
	return tag
}

// Slot returns the slot of a key, or -1 if the proxy has no fixed slots: a single server has all keys, and
// some proxies hash by their configuration.
func (p *Profile) Slot(key string) int {
	switch p.hash {
	case hashCodis:
		return int(crc32.ChecksumIEEE([]byte(p.Tag(key))) % codisSlots)
	case hashCluster:
		return int(keyhash.CRC16(p.Tag(key))) % clusterSlots
	}
	return -1
}

// Slots returns the number of slots, 0 if the proxy has no fixed slots.
func (p *Profile) Slots() int {
	switch p.hash {
	case hashCodis:
		return codisSlots
	case hashCluster:
		return clusterSlots
	}
	return 0
}

// SameSlot reports whether these keys are certainly on one server, however many servers there are.
func (p *Profile) SameSlot(keys ...string) bool {
	for _, key := range keys[min(1, len(keys)):] {
		if !p.together(keys[0], key) {
			return false
		}
	}
	return true
}

func (p *Profile) together(a, b string) bool {
	switch p.hash {
	case hashNone:
		return true
	case hashConfig:
		return p.Tag(a) == p.Tag(b)
	}
	return p.Slot(a) == p.Slot(b)
}
