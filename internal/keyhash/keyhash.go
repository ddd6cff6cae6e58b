// Package keyhash chooses keys by a hash of their names.
package keyhash

// Of is FNV-1a with a final mix, the same in every process.
func Of(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h ^= uint64(name[i])
		h *= 1099511628211
	}
	h ^= h >> 32
	h *= 0x9fb21c651e98df25
	return h ^ h>>28
}
