package torture

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// The kinds of values, as in their keys.
const (
	listKind     = "list"     // a string with ids
	hashKind     = "hash"     // a hash with an id in each field, and its position
	countKind    = "count"    // a number
	sectionKind  = "section"  // a list that is updated in sections
	accountKind  = "account"  // three lists with transfers between them
	externalKind = "external" // a list outside Redis
)

func isExternal(key string) bool { return strings.HasPrefix(key, keyPrefix+externalKind+":") }

func isCount(key string) bool { return strings.HasPrefix(key, keyPrefix+countKind+":") }

// with returns the value with one more id: at the end of a list, as a field with its position, or counted.
func with(cur rmw.Value, key rmw.Key, id string, seen []string) rmw.Value {
	switch {
	case key.Kind == rmw.KindHash:
		return cur.With(id, strconv.Itoa(len(seen)))
	case isCount(key.Name):
		return rmw.String(strconv.Itoa(number(cur.Text()) + 1))
	}
	return rmw.String(cur.Text() + id + ",")
}

// seenIn returns the visible content of a value: the ids, in the order in which they were added, or the
// number.
func seenIn(key rmw.Key, v rmw.Value) []string {
	switch {
	case v.Kind() == rmw.KindHash:
		return ordered(v.Fields())
	case isCount(key.Name):
		return []string{strconv.Itoa(number(v.Text()))}
	}
	return listed(v.Text())
}

// number parses a counter: 0 if empty, -1 if malformed.
func number(text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

func listed(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, ","), ",")
}

// ordered returns the fields by their positions. Two fields at one position, which is a lost update, are
// ordered by name.
func ordered(fields map[string]string) []string {
	place := func(id string) int {
		n, err := strconv.Atoi(fields[id])
		if err != nil {
			return -1
		}
		return n
	}
	return slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}
