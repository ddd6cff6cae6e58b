package shadow

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// The trail of a key is what the processes of a fleet have mirrored to it lately, as
// digests under a scratch key next to it. Each notes what it is going to write before it
// does. So what the hidden store holds and the trail lacks was written by somebody else:
// no process could know that of another one, which may have dropped a call, or be gone.
// Before the digests it names the rules that they are by. While those change, process by
// process, a trail by others tells nothing, and is begun anew.

const (
	maxTrail = 64
	trailTTL = time.Hour
)

func trailOf(key rmw.Key) rmw.Key {
	return rmw.Key{Name: scratch("trail", key, ""), TTL: trailTTL, Label: key.Label}
}

// stepOf is a value of a key. It is another one for each key: the hidden store may keep
// the trails, as the values, of two keys under one name.
func stepOf(key rmw.Key, d digest) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(d[:])^hashOf(key.Name)))
}

// leave notes in the trail what is going to be written. Who is alone knows it anyway.
func (e *engine) leave(t *track, d digest) error {
	if e.book.cfg.Sole {
		return nil
	}
	return e.ask(func(ctx context.Context) error {
		var first string
		note := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			steps, known := stepsBy(t.op.compare.rules, cur)
			if !known {
				if first == "" {
					return rmw.Value{}, errInput
				}
				steps = []string{first}
			}
			step := stepOf(t.key, d)
			steps = append(slices.DeleteFunc(steps, func(s string) bool { return s == step }), step)
			return rmw.String(t.op.compare.rules + " " + strings.Join(steps[max(0, len(steps)-maxTrail):], " ")), nil
		}
		_, err := e.hidden.Update(ctx, trailOf(t.key), note)
		if !errors.Is(err, errInput) {
			return err
		}
		// A trail begins with what is there: it may be of before the last one has expired.
		v, err := e.hidden.Read(ctx, t.key)
		if err != nil {
			return err
		}
		first = stepOf(t.key, t.op.compare.digest(v))
		_, err = e.hidden.Update(ctx, trailOf(t.key), note)
		return err
	})
}

// strange reports whether a value that the hidden store holds was mirrored by nobody. A
// value that is not there may have expired.
func (e *engine) strange(t *track, v rmw.Value) bool {
	if !v.Exists() {
		return false
	}
	trail, err := e.read(trailOf(t.key))
	steps, known := stepsBy(t.op.compare.rules, trail)
	return err == nil && known && !slices.Contains(steps, stepOf(t.key, t.op.compare.digest(v)))
}

// stepsBy reads a trail, and reports whether it is one by these rules.
func stepsBy(rules string, trail rmw.Value) (steps []string, known bool) {
	words := strings.Fields(trail.Text())
	if len(words) == 0 || words[0] != rules {
		return nil, false
	}
	return words[1:], true
}
