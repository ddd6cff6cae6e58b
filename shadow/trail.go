package shadow

import (
	"context"
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

const (
	maxTrail = 64
	trailTTL = time.Hour
	stepSize = 8 // bytes of a digest
)

func trailOf(key rmw.Key) rmw.Key {
	return rmw.Key{Name: scratch("trail", key, ""), TTL: trailTTL, Label: key.Label}
}

func stepOf(d digest) string { return hex.EncodeToString(d[:stepSize]) }

// leave notes in the trail what is going to be written. Who is alone knows it anyway.
func (e *engine) leave(t *track, d digest) error {
	if e.book.cfg.Sole {
		return nil
	}
	return e.ask(func(ctx context.Context) error {
		var first string
		note := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			steps := strings.Fields(cur.Text())
			if !cur.Exists() {
				if first == "" {
					return rmw.Value{}, errInput
				}
				steps = []string{first}
			}
			step := stepOf(d)
			steps = append(slices.DeleteFunc(steps, func(s string) bool { return s == step }), step)
			return rmw.String(strings.Join(steps[max(0, len(steps)-maxTrail):], " ")), nil
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
		first = stepOf(t.op.compare.digest(v))
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
	return err == nil && trail.Exists() && !slices.Contains(strings.Fields(trail.Text()), stepOf(t.op.compare.digest(v)))
}
