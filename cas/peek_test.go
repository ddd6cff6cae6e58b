package cas_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

func TestPeekBudget(t *testing.T) {
	text, hash := rmw.Key{Name: "s"}, rmw.Key{Name: "h", Kind: rmw.KindHash}
	for name, tc := range map[string]struct {
		key      rmw.Key
		want     rmw.Value
		left     time.Duration
		commands []string
	}{
		"string": {text, rmw.String("x"), time.Minute, []string{"MULTI", "PTTL", "GET", "EXEC"}},
		"hash":   {hash, rmw.Hash(map[string]string{"f": "1"}), rmw.NoTTL, []string{"MULTI", "PTTL", "HGETALL", "EXEC"}},
		"absent": {rmw.Key{Name: "none"}, rmw.Value{}, 0, []string{"MULTI", "PTTL", "GET", "EXEC"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, cas.Config{})
				require.NoError(t, f.other.Set(t.Context(), text.Name, "x", time.Minute).Err())
				require.NoError(t, f.other.HSet(t.Context(), hash.Name, "f", "1").Err())
				_, _, err := f.store.Peek(t.Context(), tc.key) // pipelines have connections of their own
				require.NoError(t, err)
				f.warm()
				start := f.meter.Read()
				got, left, err := f.store.Peek(t.Context(), tc.key)
				require.NoError(t, err)
				assert.True(t, got.Equal(tc.want), "%v", got)
				assert.Equal(t, tc.left, left)
				assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
				assert.Equal(t, tc.commands, f.commands())
			})
		})
	}
}

// A Store that has not watched a key yet tries that first, once; an update is as good.
func TestFirstPeek(t *testing.T) {
	for name, first := range map[string]func(ctx context.Context, s *cas.Store, key rmw.Key) error{
		"peek": func(ctx context.Context, s *cas.Store, key rmw.Key) error {
			_, _, err := s.Peek(ctx, key)
			return err
		},
		"update": func(ctx context.Context, s *cas.Store, key rmw.Key) error {
			_, err := s.Update(ctx, key, keep)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, cas.Config{})
				require.NoError(t, first(t.Context(), f.store, rmw.Key{Name: "k"}))
				for range 2 {
					_, _, err := f.store.Peek(t.Context(), rmw.Key{Name: "k"})
					require.NoError(t, err)
				}
				assert.Equal(t, 1, f.proxy.Count()["WATCH"])
			})
		})
	}
}

// The profile check refuses before anything is sent, and a proxy before anything else
// is: reading still works.
func TestPeekBehindAProxyThatRefusesMulti(t *testing.T) {
	for _, hooked := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixtureOn(t, proxycompat.Codis32(), cas.Config{})
			if hooked {
				f.rdb.AddHook(proxycompat.Hook(proxycompat.Codis32()))
			}
			key := rmw.Key{Name: "k"}
			f.set(key, "x")
			f.warm()
			_, _, err := f.store.Peek(t.Context(), key)
			require.ErrorIs(t, err, rmw.ErrUnsupported)
			assert.False(t, rmw.Retryable(err))
			if hooked {
				assert.Empty(t, f.commands())
			} else {
				assert.Equal(t, []string{"WATCH"}, f.commands())
			}
			v, err := f.store.Read(t.Context(), key)
			require.NoError(t, err)
			assert.Equal(t, "x", v.Text())
		})
	}
}

// A refused transaction says why, and not only that it was refused; and replies that do
// not fit each other are not believed.
func TestAnswersOfAPeek(t *testing.T) {
	const (
		queued  = "+QUEUED\r\n"
		noPerm  = "-NOPERM this user has no permissions to run the command\r\n"
		aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n"
	)
	for name, tc := range map[string]struct {
		pttl, get, exec string
		want            error
	}{
		"fine":               {queued, queued, "*2\r\n:5\r\n$1\r\nx\r\n", nil},
		"PTTL not permitted": {noPerm, queued, aborted, rmw.ErrUnsupported},
		"GET not permitted":  {queued, noPerm, aborted, rmw.ErrUnsupported},
		"withdrawn":          {queued, queued, "*2\r\n" + noPerm + "$1\r\nx\r\n", rmw.ErrUnsupported},
		"another type":       {queued, queued, "*2\r\n:5\r\n-WRONGTYPE Operation against a key\r\n", rmw.ErrWrongKind},
		"loading":            {queued, queued, "-LOADING Redis is loading the dataset in memory\r\n", rmw.ErrUnavailable},
		"value, but no key":  {queued, queued, "*2\r\n:-2\r\n$1\r\nx\r\n", rmw.ErrUnavailable},
		"nil":                {queued, queued, "*-1\r\n", rmw.ErrUnavailable},
		"nonsense":           {queued, queued, "$2\r\nhi\r\n", rmw.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{replies: func(command string, _ []string) string {
					return map[string]string{"PTTL": tc.pttl, "GET": tc.get, "EXEC": tc.exec}[command]
				}}
				store, end := s.open(cas.Config{})
				defer end()
				v, left, err := store.Peek(t.Context(), rmw.Key{Name: "k"})
				if tc.want == nil {
					require.NoError(t, err)
					assert.Equal(t, "x", v.Text())
					assert.Equal(t, 5*time.Millisecond, left)
					return
				}
				require.ErrorIs(t, err, tc.want)
				assert.False(t, v.Exists())
				assert.Zero(t, left)
			})
		})
	}
}
