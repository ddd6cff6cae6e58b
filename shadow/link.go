package shadow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// link is the value of a scratch key of the free run.
type link struct {
	n     int64    // number of commits
	dated string   // id of the commit that set the expiry
	at    int64    // when, in Unix milliseconds of the process that set it
	ids   []string // of the last commits, the latest last
}

const maxLinks = 64 // ids in a link

// linkOf decodes a link. Any other value is the zero link.
func linkOf(v rmw.Value) link {
	text := v.Text()
	if v.Kind() == rmw.KindHash {
		text, _ = v.Field("chain")
	}
	_, text, _ = strings.Cut(text, "|")
	words := strings.Fields(text)
	if len(words) < 3 {
		return link{}
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	at, errAt := strconv.ParseInt(words[1], 10, 64)
	if err != nil || errAt != nil || n <= 0 {
		return link{}
	}
	return link{n: n, at: at, dated: words[2], ids: words[3:]}
}

// then returns the link after one more commit.
func (l link) then(id string) link {
	return link{n: l.n + 1, at: l.at, dated: l.dated, ids: appendLast(l.ids, id, maxLinks)}
}

// appendLast returns a copy of all with one more at the end, and at most limit of them.
func appendLast[T any](all []T, one T, limit int) []T {
	all = append(slices.Clone(all), one)
	return all[max(0, len(all)-limit):]
}

// moveLast is appendLast without an earlier occurrence of the word.
func moveLast(words []string, word string, limit int) []string {
	return appendLast(slices.DeleteFunc(words, func(w string) bool { return w == word }), word, limit)
}

func (l link) count(id string) (times int) {
	for _, other := range l.ids {
		if other == id {
			times++
		}
	}
	return times
}

// value encodes a link, with padding before it: two links differ at their end, where a
// guard that compares only the beginning does not see it.
func (l link) value(kind rmw.Kind, size int) rmw.Value {
	text := fmt.Sprintf("|%d %d %s %s", l.n, l.at, cmp.Or(l.dated, "-"), strings.Join(l.ids, " "))
	text = strings.Repeat(".", max(0, size-len(text))) + text
	if kind == rmw.KindHash {
		return rmw.Hash(map[string]string{"chain": text, "pad": "."})
	}
	return rmw.String(text)
}

// outdated reports whether the next commit of the chain sets the expiry anew.
func (l link) outdated(tolerance time.Duration) bool {
	return l.n == 0 || time.Since(time.UnixMilli(l.at)).Abs() > datedFor(tolerance)
}

// datedFor is how long the commits of a chain keep an expiry. In that time, an expiry that
// starts anew moves by more than the tolerance.
func datedFor(tolerance time.Duration) time.Duration { return min(4*tolerance, freeTTL/10) }
