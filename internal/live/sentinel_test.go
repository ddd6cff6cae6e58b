package live

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func behindSentinels(t *testing.T, f fakes, step func(second int)) (*Report, error) {
	second := 0
	return Run(t.Context(), []Address{{Primary: "main", Sentinels: []string{"gone:26379", "s:26379"}, Password: "hunter2"}}, Config{
		For: 5500 * time.Millisecond, Dial: f.dial, Progress: func(Progress) { step(second); second++ },
	})
}

func TestSentinelsNameThePrimary(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *fake)
		late   func(s, f *fake)
		why    string // of an incomplete report
		err    string
	}{
		"the same all the time":       {},
		"one that wants the password": {change: func(s *fake) { s.password = "hunter2" }},
		"another password":            {change: func(s *fake) { s.password = "other" }, err: "sentinel s:26379: AUTH was refused"},
		"a name that nobody knows":    {change: func(s *fake) { delete(s.primaries, "main") }, err: "knows no primary of the name main"},
		"an address that is none":     {change: func(s *fake) { s.primaries["main"] = [2]string{"", "x"} }, err: "is no address"},
		"no sentinel answers":         {change: func(s *fake) { s.down = true }, err: "sentinel gone:26379"},
		"a failover": {late: func(s, _ *fake) { s.primaries["main"] = [2]string{"two", "6379"} },
			why: "is the primary no more: the sentinels name two:6379"},
		"a failover from a server that died": {late: func(s, f *fake) {
			s.primaries["main"] = [2]string{"two", "6379"}
			f.hang = true
		}, why: "the sentinels name two:6379"},
		"no sentinel at the end": {late: func(s, _ *fake) { s.down = true }, why: "may be the primary no more"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f := newFake(), newFake()
				s.primaries = map[string][2]string{"main": {"redis", "6379"}}
				if test.change != nil {
					test.change(s)
				}
				r, err := behindSentinels(t, fakes{"s:26379": s, "redis:6379": f}, at(2, func() {
					if test.late != nil {
						s.do(func() { f.do(func() { test.late(s, f) }) })
					}
				}))
				if test.err != "" {
					require.ErrorContains(t, err, test.err)
					assert.NotContains(t, err.Error(), "hunter2")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, "redis:6379", r.Servers[0].Addr)
				if test.why == "" {
					assert.Equal(t, Clean, r.Verdict, r.Incomplete)
					assert.Zero(t, r.Commands)
					return
				}
				assert.Equal(t, Incomplete, r.Verdict)
				assert.Contains(t, r.Incomplete[0], test.why)
			})
		})
	}
}
