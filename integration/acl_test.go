package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

type closer interface {
	rmw.Store
	io.Closer
}

// documentedRights returns the ACL rules after ACL SETUSER in the line for this user.
func documentedRights(t *testing.T, page, user string) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + page)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 3 && slices.Equal(words[:3], []string{"ACL", "SETUSER", user}) {
			return words[2:]
		}
	}
	require.Fail(t, "no such line", "%s: ACL SETUSER %s", page, user)
	return nil
}

// withRights creates the user with a password, and connects as that user.
func withRights(t *testing.T, admin *redis.Client, addr string, words []string) *redis.Client {
	t.Helper()
	args := []any{"acl", "setuser"}
	for _, word := range words {
		args = append(args, strings.Replace(word, ">...", ">secret", 1))
	}
	require.NoError(t, admin.Do(t.Context(), args...).Err())
	opts := proxycompat.Options(proxycompat.Redis(), addr)
	opts.Username, opts.Password = words[0], "secret"
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}

// everything uses all operations of a Store, and returns each error. If renewed is not nil, the first
// update waits until its lease is renewed.
func everything(t *testing.T, admin *redis.Client, store rmw.Store, renewed <-chan struct{}) (failed []error) {
	ctx := t.Context()
	note := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	require.NoError(t, admin.FlushAll(ctx).Err())
	require.NoError(t, admin.ScriptFlush(ctx).Err()) // so that EVAL is needed
	filler := strings.Repeat("x", 5000)              // above the size that a commit sends unread
	for _, ttl := range []time.Duration{0, time.Hour, rmw.NoTTL} {
		for _, key := range []rmw.Key{{Name: "room:text", TTL: ttl}, {Name: "room:hash", Kind: rmw.KindHash, TTL: ttl}} {
			for _, step := range []string{"create", "change", "same", "delete"} {
				halfLease := time.After(30 * time.Millisecond) // if the lease is short
				_, err := store.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					<-halfLease
					if renewed != nil {
						select {
						case <-renewed:
						case <-ctx.Done(): // the lock is lost
						}
						renewed = nil
					}
					switch {
					case step == "delete":
						return rmw.Value{}, nil
					case step == "same":
						return cur.WithTTL(time.Hour), nil
					case step == "create" && key.Kind == rmw.KindHash:
						return rmw.Hash(map[string]string{"create": "x", "filler": filler}), nil
					case key.Kind == rmw.KindHash:
						return cur.With(step, "x").Without("create"), nil
					}
					return rmw.String(step), nil
				})
				note(err)
				_, err = store.Read(ctx, key)
				note(err)
				if p, ok := rmw.As[rmw.Peeker](store); ok {
					_, _, err = p.Peek(ctx, key)
					note(err)
				}
			}
		}
	}
	if s, ok := rmw.As[*lockupdate.Store](store); ok {
		failed = append(failed, locking(t, admin, s)...)
	} else {
		note(leaving(t, admin, store))
	}
	return failed
}

// locking uses the operations that only lockupdate has.
func locking(t *testing.T, admin *redis.Client, s *lockupdate.Store) (failed []error) {
	ctx := t.Context()
	note := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	require.NoError(t, admin.HSet(ctx, "/lock/room:taken", "another", "1").Err())
	require.NoError(t, admin.PExpire(ctx, "/lock/room:taken", 20*time.Millisecond).Err())
	l, err := s.Lock(ctx, "room:taken")
	note(err)
	if err == nil {
		_, err = lock.Token(l.Context())
		note(err)
		note(l.Unlock())
	}
	_, err = s.Inspect(ctx, "room:taken")
	note(err)
	return failed
}

// leaving tests UNWATCH: without it, an idle connection that still watches a key makes the next update of
// another key fail.
func leaving(t *testing.T, admin *redis.Client, store rmw.Store) error {
	no := errors.New("no")
	_, err := store.Update(t.Context(), rmw.Key{Name: "room:left"}, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.Value{}, no
	})
	if !errors.Is(err, no) {
		return err
	}
	require.NoError(t, admin.Set(t.Context(), "room:left", "changed", 0).Err())
	// Nested updates use each idle connection, including that one.
	var nested func(depth int) error
	nested = func(depth int) error {
		if depth == 0 {
			return nil
		}
		key := rmw.Key{Name: fmt.Sprint("room:other", depth)}
		res, err := store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return rmw.String(cur.Text() + "x"), nested(depth - 1)
		})
		if err == nil && res.Attempts > 1 {
			err = fmt.Errorf("%w, though nobody else has touched it", rmw.ErrContended)
		}
		return err
	}
	return nested(5)
}

// The rights in docs/security.md suffice, and each of them is necessary.
func TestMinimalACL(t *testing.T) {
	t.Parallel()
	for user, open := range map[string]func(rdb *redis.Client, cfg lockupdate.Config) closer{
		"lockupdate": func(rdb *redis.Client, cfg lockupdate.Config) closer { return lockupdate.New(rdb, cfg) },
		"cas":        func(rdb *redis.Client, _ lockupdate.Config) closer { return cas.New(rdb, cas.Config{}) },
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			server := servers.Redis(t)
			admin := client(t, server.Addr)
			use := func(words []string, cfg lockupdate.Config, renewed <-chan struct{}) []error {
				s := open(withRights(t, admin, server.Addr, words), cfg)
				failed := everything(t, admin, s, renewed)
				if err := s.Close(); err != nil { // reports a lock that it cannot release
					failed = append(failed, err)
				}
				return failed
			}
			words := documentedRights(t, "security.md", user)
			// A slow machine also keeps a lease of the default length.
			var renewed chan struct{}
			all := lockupdate.Config{}
			if user == "lockupdate" {
				renewed = make(chan struct{}, 1)
				all.OnEvent = func(e lockupdate.Event) {
					if e.Kind == lockupdate.EventRenewed {
						select {
						case renewed <- struct{}{}:
						default:
						}
					}
				}
			}
			require.Empty(t, use(words, all, renewed), "the line as it stands")
			for _, left := range words {
				if !strings.HasPrefix(left, "+") && !strings.HasPrefix(left, "~") {
					continue
				}
				rest := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == left })
				refused := 0
				// Some locks cannot be released, so the next update waits until they expire. On a slow machine a
				// short lease may end before the server refuses a command.
				for lease := 50 * time.Millisecond; refused == 0 && lease <= 5*time.Second; lease *= 10 {
					failed := use(rest, lockupdate.Config{Lease: lease}, nil)
					if !assert.NotEmpty(t, failed, "%s is too much: nothing fails without it", left) {
						break
					}
					t.Logf("without %s: %v", left, failed[0])
					refused = refusals(t, left, failed)
					if user != "lockupdate" {
						break // cas has no lease, and without UNWATCH nothing is refused
					}
				}
				if user == "lockupdate" {
					assert.Positive(t, refused, "without %s: no error is about the rights", left)
				}
				nothingStays(t, admin, left)
			}
		})
	}
}

// refusals counts the errors about rights. Without a right, other callers may also notice a lock that cannot
// be renewed or released.
func refusals(t *testing.T, without string, failed []error) (refused int) {
	for _, err := range failed {
		says := func(text string) bool { return strings.Contains(err.Error(), text) }
		if slices.ContainsFunc([]string{
			"NOPERM", "can't run this command", "ACL failure in script", "can't access at least one of the keys",
		}, says) {
			refused++
			continue
		}
		assert.True(t, errors.Is(err, rmw.ErrLockLost) || errors.Is(err, rmw.ErrContended), "without %s: %v", without, err)
	}
	return refused
}

// nothingStays requires that each lock has an expiry.
func nothingStays(t *testing.T, admin *redis.Client, without string) {
	locks, _, err := admin.Scan(t.Context(), 0, "/lock/*", 1000).Result()
	require.NoError(t, err)
	for _, lock := range locks {
		left := admin.PTTL(t.Context(), lock).Val()
		assert.NotEqual(t, time.Duration(-1), left, "without %s the lock %s is left for ever", without, lock)
	}
}

// The documented rights are those in the code: see also TestLiveRights.
func TestDocumentedRights(t *testing.T) {
	sent, called := lockupdate.Config{}.RequiredCommands()
	all := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(append(sent, called...)))), func(command string) bool {
		return command == "HPTTL" // the page names it: older servers do not know the word
	})
	assert.ElementsMatch(t, all, rightsOf(documentedRights(t, "security.md", "transact")))
	assert.Equal(t, "on >... "+live.Rights, strings.Join(documentedRights(t, "migrate-check-live.md", "watcher")[1:], " "))
}
