package shadow_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// why returns what a gate that is not ready says, of all operations.
func why(v report.Verdict, gate string) (text string) {
	for _, g := range v.Gates {
		if g.Name == gate && g.State != report.Ready {
			text += g.Why + "\n"
		}
	}
	return text
}

// A candidate that gives up because of other writers is told so, and which settings matter.
func TestAContendedCandidateIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mutant{Memory: rmwtest.NewMemory()}
		var count atomic.Int64
		m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
			if count.Add(1)%10 == 0 {
				return rmw.Result{}, &rmw.Error{Path: "mutant", Op: "acquire", Key: key.Name, Reason: rmw.ErrContended}
			}
			return m.Memory.Update(ctx, key, fn)
		}
		r := verdictOn(t, m, shadow.Config{Sole: true}, nil)
		assert.Empty(t, named(r))
		coverage := why(r.Judge(report.Policy{}), "coverage")
		assert.Contains(t, coverage, "mostly shadow_contended")
		assert.Contains(t, coverage, "MaxWait")
		assert.Contains(t, coverage, "hot key")
		assert.NotContains(t, coverage, "out of reach")
	})
}

// A write that is reported and not stored is named a lost write, with advice of its own.
func TestALostWriteIsNamed(t *testing.T) {
	for name, candidate := range map[string]func() *mutant{"not stored": losesWrites, "evicted": evicts} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := verdictOn(t, candidate(), shadow.Config{Sole: true}, nil)
				assert.Contains(t, named(r), "seeded lost_write ")
				divergence := why(r.Judge(report.Policy{}), "divergence")
				assert.Contains(t, divergence, "the candidate reports a write that is not stored")
				assert.NotContains(t, divergence, "codec", named(r))
			})
		})
	}
}

// aliases is a candidate that stores keys under another name.
func aliases(name func(name string) string) *mutant {
	m := &mutant{Memory: rmwtest.NewMemory()}
	change := func(key rmw.Key) rmw.Key {
		key.Name = name(key.Name)
		return key
	}
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		return m.Memory.Update(ctx, change(key), fn)
	}
	m.read = func(ctx context.Context, key rmw.Key) (rmw.Value, error) { return m.Memory.Read(ctx, change(key)) }
	m.peek = func(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
		return m.Memory.Peek(ctx, change(key))
	}
	return m
}

// Two keys that the candidate stores under one name are named, in one process and in a
// fleet.
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
			t.Run(fmt.Sprint(m.name, ", Sole ", sole), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := shadow.New(rmwtest.NewMemory(), aliases(m.alias), shadow.Config{
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
					if !sole {
						assert.Contains(t, why(v, "coverage"), "two keys share one value")
						assert.Contains(t, why(v, "coverage"), "Config.Sole")
					}
					require.NoError(t, s.Close())
				})
			})
		}
	}
}
