package proxycompat

import (
	"hash/crc32"
	"strings"
)

// CodisSlots is the number of slots of a Codis cluster.
const CodisSlots = 1024

// CodisSlot returns the Codis slot of a key: the CRC-32 (IEEE) of its hash tag,
// or of the whole key, modulo 1024.
//
// Unlike Redis Cluster, Codis takes an empty pair of braces for a tag: every
// key whose first "{" is followed at once by "}" is in slot 0.
// Source: codis release3.2 pkg/proxy/mapper.go (Hash).
func CodisSlot(key string) int {
	return int(crc32.ChecksumIEEE([]byte(CodisTag(key))) % CodisSlots)
}

// CodisTag returns the part of the key that [CodisSlot] hashes: what lies
// between the first "{" and the first "}" after it, or the whole key.
func CodisTag(key string) string {
	_, rest, found := strings.Cut(key, "{")
	if !found {
		return key
	}
	tag, _, closed := strings.Cut(rest, "}")
	if !closed {
		return key
	}
	return tag
}
