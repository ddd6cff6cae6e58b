package shadow

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// link is the value of a scratch key of the free run.
type link struct {
	n     int64    // commits so far
	dated string   // id of the commit that has set the expiry
	at    int64    // when that was, in Unix milliseconds, by that process's clock
	ids   []string // of the last commits, the latest last
}

// maxLinks is how many ids a link holds.
const maxLinks = 64

// linkOf reads a link. Anything else is the zero link.
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

// then is the link after one more commit.
func (l link) then(id string) link {
	ids := append(slices.Clone(l.ids), id)
	return link{n: l.n + 1, at: l.at, dated: l.dated, ids: ids[max(0, len(ids)-maxLinks):]}
}

func (l link) count(id string) (times int) {
	for _, other := range l.ids {
		if other == id {
			times++
		}
	}
	return times
}

// value pads a link to a size, at its beginning: what differs between two links comes
// last, where a guard that compares the beginning only does not see it.
func (l link) value(kind rmw.Kind, size int) rmw.Value {
	dated := l.dated
	if dated == "" {
		dated = "-"
	}
	text := "|" + strconv.FormatInt(l.n, 10) + " " + strconv.FormatInt(l.at, 10) + " " + dated + " " + strings.Join(l.ids, " ")
	text = strings.Repeat(".", max(0, size-len(text))) + text
	if kind == rmw.KindHash {
		return rmw.Hash(map[string]string{"chain": text, "pad": "."})
	}
	return rmw.String(text)
}

// dating is a commit that has set the expiry of a scratch key. The ones after it keep
// that, until it is time to set it again.
type dating struct {
	n            int64 // its place
	id           string
	began, ended time.Time // the expiry was set in between
	compared     bool      // with what the store has
}

// datedFor is how long the commits of a chain keep an expiry, until one sets it again. It
// is long enough for an expiry that begins anew to differ by more than the tolerance.
func datedFor(tolerance time.Duration) time.Duration { return min(4*tolerance, freeTTL/10) }

// ripe reports whether the expiry of a chain is old enough to be compared.
func (c *chain) ripe() bool {
	return c.dated.n > 0 && !c.dated.compared && time.Since(c.dated.ended) > datedFor(c.tolerance)/2
}
