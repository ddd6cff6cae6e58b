package torture

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// The kinds of values, as their keys are called.
const (
	listKind     = "list"     // a string with ids
	hashKind     = "hash"     // a hash with an id in each field, and its place
	countKind    = "count"    // a number
	sectionKind  = "section"  // a list that is updated in sections
	accountKind  = "account"  // three lists between which is transferred
	externalKind = "external" // a list that is not in Redis
)

func isExternal(key string) bool { return strings.HasPrefix(key, keyPrefix+externalKind+":") }

func isCount(key string) bool { return strings.HasPrefix(key, keyPrefix+countKind+":") }

// with is the value with one more id: at the end of a list, as a field with its place, or
// counted.
func with(cur rmw.Value, key rmw.Key, id string, seen []string) rmw.Value {
	switch {
	case key.Kind == rmw.KindHash:
		return cur.With(id, strconv.Itoa(len(seen)))
	case isCount(key.Name):
		return rmw.String(strconv.Itoa(number(cur.Text()) + 1))
	}
	return rmw.String(cur.Text() + id + ",")
}

// seenIn is what there is to be seen in a value: the ids, in the order in which they were added,
// or the number.
func seenIn(key rmw.Key, v rmw.Value) []string {
	switch {
	case v.Kind() == rmw.KindHash:
		return ordered(v.Fields())
	case isCount(key.Name):
		return []string{strconv.Itoa(number(v.Text()))}
	}
	return listed(v.Text())
}

// number is a counter's; none is 0, and what is not one is -1.
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

// ordered are the fields by their places. Two at one place, which is a lost update, follow each
// other in the order of their names.
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
