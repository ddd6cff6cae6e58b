package load

import (
	"strconv"
	"strings"
)

// keyPrefix begins the keys of all values; all other keys belong to locks.
const keyPrefix = "load:"

// keys numbers the keys: first those for all workers, then those of the holders.
type keys struct{ shared, held int }

func (k *keys) all() int { return k.shared + k.held }

func (k *keys) name(number int) string { return keyPrefix + strconv.Itoa(number) }

// number parses a key; ours is false if it does not name a value.
func (k *keys) number(name string) (number int, ours bool) {
	text, ours := strings.CutPrefix(name, keyPrefix)
	number, err := strconv.Atoi(text)
	return number, ours && err == nil && 0 <= number && number < k.all()
}
