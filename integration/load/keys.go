package load

import (
	"strconv"
	"strings"
)

// keyPrefix begins the names of all values; whatever else is stored belongs to locks.
const keyPrefix = "load:"

// keys are numbered. After those that everybody updates come some that are held for long.
type keys struct{ shared, held int }

func (k *keys) all() int { return k.shared + k.held }

func (k *keys) name(number int) string { return keyPrefix + strconv.Itoa(number) }

// number reads a name; ours is false if it is not that of a value.
func (k *keys) number(name string) (number int, ours bool) {
	text, ours := strings.CutPrefix(name, keyPrefix)
	number, err := strconv.Atoi(text)
	return number, ours && err == nil && 0 <= number && number < k.all()
}
