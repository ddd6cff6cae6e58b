package seal

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/rmw"
)

// DecisionPrefix begins the key of every decision.
const DecisionPrefix = "~tx:"

// DecisionKey returns the key of the decisions about the updates with this least key. In a Redis Cluster it has the
// slot of the key.
func DecisionKey(key string) string { return DecisionPrefix + "{" + keyhash.Tag(key) + "}" }

// Aborted is the record of an update that is not stored.
const Aborted = "aborted 1\n"

const committed = "committed 1\n"

// Next is what becomes of a key that an update has sealed.
type Next struct {
	Key   string
	Nonce string        // of the seal
	Kept  bool          // the value that the seal holds stays
	Value rmw.Value     // deleted, if it does not exist
	TTL   time.Duration // as rmw.Key.TTL
}

// Committed returns the record of an update that is stored.
func Committed(all []Next) string {
	b := []byte(committed)
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for _, n := range all {
		text(n.Key)
		text(n.Nonce)
		switch {
		case n.Kept:
			b = append(b, 'k')
			continue
		case !n.Value.Exists():
			b = append(b, 'n')
			continue
		case n.Value.Kind() == rmw.KindHash:
			b = binary.AppendVarint(append(b, 'h'), millis(n.TTL))
			b = binary.AppendUvarint(b, uint64(n.Value.Len()))
			for field, value := range n.Value.All() {
				text(field)
				text(value)
			}
		default:
			b = binary.AppendVarint(append(b, 's'), millis(n.TTL))
			text(n.Value.Text())
		}
	}
	return string(b)
}

// millis returns a TTL in milliseconds, with -1 for rmw.NoTTL.
func millis(ttl time.Duration) int64 {
	if ttl < 0 {
		return -1
	}
	return ttl.Milliseconds()
}

// Decision is a record as it was read.
type Decision struct {
	Made      bool // else there is none
	Committed bool
	Keys      []Next
}

// Of returns what becomes of a key: if the update is aborted, it keeps its value.
func (d Decision) Of(key, nonce string) Next {
	if d.Committed {
		for _, n := range d.Keys {
			if n.Key == key {
				n.Nonce = nonce
				return n
			}
		}
	}
	return Next{Key: key, Nonce: nonce, Kept: true}
}

// errRecord is a decision that cannot be read.
func errRecord(problem string) error {
	return fmt.Errorf("%w: the decision of an update of several keys %s", rmw.ErrUnsupported, problem)
}

// ParseRecord reads a record.
func ParseRecord(text string) (d Decision, err error) {
	if text == Aborted {
		return Decision{Made: true}, nil
	}
	rest, ok := strings.CutPrefix(text, committed)
	if !ok {
		return d, errRecord("has a format that this build does not know; deploy the newer build here as well")
	}
	d = Decision{Made: true, Committed: true}
	r := reader{rest: rest}
	for r.rest != "" && !r.failed {
		n := Next{Key: r.text(), Nonce: r.text()}
		switch r.byte() {
		case 'k':
			n.Kept = true
		case 'n':
		case 's':
			n.TTL = r.ttl()
			n.Value = rmw.String(r.text())
		case 'h':
			n.TTL = r.ttl()
			fields := map[string]string{}
			for range r.length() {
				if r.failed {
					break
				}
				name := r.text()
				fields[name] = r.text()
			}
			n.Value = rmw.Hash(fields)
		default:
			r.failed = true
		}
		d.Keys = append(d.Keys, n)
	}
	if r.failed {
		return Decision{}, errRecord("is damaged; another program has changed it")
	}
	return d, nil
}

// reader takes a record apart.
type reader struct {
	rest   string
	failed bool
}

func (r *reader) byte() byte {
	if r.rest == "" {
		r.failed = true
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

func (r *reader) length() uint64 {
	n, used := binary.Uvarint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if used <= 0 || n > uint64(len(r.rest)) {
		r.failed = true
		return 0
	}
	r.rest = r.rest[used:]
	return n
}

func (r *reader) signed() int64 {
	n, used := binary.Varint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if used <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[used:]
	return n
}

func (r *reader) ttl() time.Duration {
	if ms := r.signed(); ms >= 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return rmw.NoTTL
}

func (r *reader) text() string {
	n := r.length()
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}
