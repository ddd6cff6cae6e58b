package proxycompat

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// codisSlots is the number of slots of a Codis cluster.
const codisSlots = 1024

// clusterSlots is the number of slots of a Redis Cluster.
const clusterSlots = 16384

// codisSlot returns the Codis slot of a key: the CRC-32 (IEEE) of its hash tag, or of the whole key, modulo
// 1024.
//
// Unlike Redis Cluster, Codis accepts an empty hash tag: each key with "{" followed at once by
// "}" is in slot 0. Source: codis release3.2 pkg/proxy/mapper.go (Hash).
func codisSlot(key string) int {
	return int(crc32.ChecksumIEEE([]byte(codisTag(key))) % codisSlots)
}

// codisTag returns the part of the key that [codisSlot] hashes: the text between the first "{" and the
// first "}" after it, or the whole key.
func codisTag(key string) string {
	tag, found := tagOf(key, '{', '}')
	if !found {
		return key
	}
	return tag
}

// clusterSlot returns the slot of a key in a Redis Cluster: the CRC-16 (XMODEM) of its
// hash tag, or of the whole key, modulo 16384. An empty pair of braces is no tag.
// Source: the Redis Cluster specification.
func clusterSlot(key string) int {
	if tag, found := tagOf(key, '{', '}'); found && tag != "" {
		key = tag
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % clusterSlots
}

// tagOf returns the text between the first open and the first shut after it.
func tagOf(key string, open, shut byte) (tag string, found bool) {
	i := strings.IndexByte(key, open)
	if i < 0 {
		return "", false
	}
	j := strings.IndexByte(key[i+1:], shut)
	if j < 0 {
		return "", false
	}
	return key[i+1 : i+1+j], true
}

// hashRule is the method by which a proxy finds the server of a key.
type hashRule uint8

const (
	hashNone    hashRule = iota // one server has all keys
	hashCodis                   // see codisSlot
	hashCluster                 // see clusterSlot
	hashConfig                  // by the key or its configured hash tag, onto any number of servers
)

func parseHash(s string) (hashRule, error) {
	switch s {
	case "none":
		return hashNone, nil
	case "codis":
		return hashCodis, nil
	case "cluster":
		return hashCluster, nil
	case "config":
		return hashConfig, nil
	}
	return 0, fmt.Errorf("bad hash rule %q: want codis, cluster, config or none", s)
}

// String returns the word that profile files use.
func (h hashRule) String() string { return [...]string{"none", "codis", "cluster", "config"}[h] }

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
func (p *Profile) Tag(key string) string {
	switch p.hash {
	case hashCodis:
		return codisTag(key)
	case hashCluster:
		if tag, found := tagOf(key, '{', '}'); found && tag != "" {
			return tag
		}
	case hashConfig:
		if p.tag == "" {
			return key
		}
		// Both nc_server.c of twemproxy and HashFunc.cpp of predixy ignore an empty tag.
		if tag, found := tagOf(key, p.tag[0], p.tag[1]); found && tag != "" {
			return tag
		}
	}
	return key
}

// Slot returns the slot of a key, or -1 if the proxy has no fixed slots: a single server has all keys, and
// some proxies hash by their configuration.
func (p *Profile) Slot(key string) int {
	switch p.hash {
	case hashCodis:
		return codisSlot(key)
	case hashCluster:
		return clusterSlot(key)
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
