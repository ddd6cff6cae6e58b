package shadow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// why returns the advice of a gate that is not ready, for all operations.
func why(v report.Verdict, gate string) (text string) {
	for _, g := range v.Gates {
		if g.Name == gate && g.State != report.Ready {
			text += g.Why + "\n"
		}
	}
	return text
}

// aliases is a candidate that stores keys under other names.
func aliases(name func(name string) string) *mutant {
	change := func(key rmw.Key) rmw.Key {
		key.Name = name(key.Name)
		return key
	}
	m := keyed(change)
	m.read = func(ctx context.Context, key rmw.Key) (rmw.Value, error) { return m.Memory.Read(ctx, change(key)) }
	m.peek = func(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
		return m.Memory.Peek(ctx, change(key))
	}
	return m
}

// A finding names both keys that the candidate stores under one name, in one process and
// in a fleet.
func TestKeysThatShareAValueAreNamed(t *testing.T) {
	for _, m := range []struct {
		name  string
		alias func(name string) string
		keys  [2]string
	}{
		{"case folded", strings.ToLower, [2]string{"room:a", "Room:A"}},
		{"prefix collides", func(name string) string {
			if strings.HasPrefix(name, "room:a") {
				return "room:a"
			}
			return name
		}, [2]string{"room:a", "room:ab"}},
	} {
		for _, sole := range []bool{true, false} {
			run(t, fmt.Sprint(m.name, ", Sole ", sole), func(t *testing.T) {
				s := open(t, rmwtest.NewMemory(), aliases(m.alias), shadow.Config{
					Sole: sole, RedactKey: func(key rmw.Key) string { return key.Name },
				})
				for i := range 40 {
					key := rmw.Key{Name: m.keys[i%2], Label: "room"}
					set(t, s, key, rmw.String(fmt.Sprintf(`{"posts":%d}`, i)))
					time.Sleep(10 * time.Millisecond)
				}
				verified(t, s, 4)
				r := s.Report()
				require.NoError(t, r.Check())
				var explained strings.Builder
				for _, sample := range r.Samples {
					if sample.Class == report.ForeignWrite {
						explained.WriteString(sample.Key + ": " + sample.Explain + "\n")
					}
				}
				assert.Contains(t, explained.String(), m.keys[0])
				assert.Contains(t, explained.String(), m.keys[1])
				assert.Contains(t, explained.String(), "the candidate may store both keys under one name")
				v := r.Judge(report.Policy{})
				assert.Equal(t, report.NotReady, v.State)
				assert.Contains(t, why(v, "end state")+why(v, "divergence"), "compare how it makes names")
				r.Verify.Findings = map[report.Class]int64{report.ForeignWrite: 38, report.ValueDiffers: 2}
				assert.Contains(t, why(r.Judge(report.Policy{}), "end state"), "compare how it makes names", "not: fix the codec")
				if !sole {
					assert.Contains(t, why(v, "coverage"), "two keys share one value")
					assert.Contains(t, why(v, "coverage"), "Config.Sole")
				}
			})
		}
	}
}
