package keyhash

import "strings"

// CRC16 is the CRC-16 (XMODEM).
func CRC16(key string) (crc uint16) {
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
	return crc
}

// Slot returns the slot of a key in a Redis Cluster.
func Slot(key string) int { return int(CRC16(Tag(key))) % 16384 }

// Tag returns the part of a key that chooses the slot: what is between the first { and the next }, or all of it.
func Tag(key string) string {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if inside, _, ok := strings.Cut(after, "}"); ok && inside != "" {
			return inside
		}
	}
	return key
}
