package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// together uses all of Transact: both kinds, with and without an expiry, late keys, a seal in the way, and a sweep.
func together(t *testing.T, admin *redis.Client, store *lockupdate.Store) (failed []error) {
	ctx := t.Context()
	require.NoError(t, admin.FlushAll(ctx).Err())
	require.NoError(t, admin.ScriptFlush(ctx).Err()) // so that EVAL is needed
	note := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	text, late := rmw.Key{Name: "room:text"}, rmw.Key{Name: "room:late"}
	hash := rmw.Key{Name: "room:hash", Kind: rmw.KindHash, TTL: time.Hour}
	for _, step := range []string{"create", "change", "delete"} {
		_, err := rmw.Transact(ctx, store, func(_ context.Context, tx *rmw.Tx) error {
			if step == "delete" {
				tx.Put(text, rmw.Value{})
				tx.Put(hash, rmw.Value{})
				return nil
			}
			tx.Put(text, rmw.String(step).WithTTL(time.Hour))
			tx.Put(hash, tx.Get(hash).With(step, "x"))
			tx.Put(late, rmw.String(step))
			return nil
		}, text, hash)
		note(err)
	}
	dead(t, admin)
	v, err := store.Read(ctx, rmw.Key{Name: "room:sealed"})
	note(err)
	if err == nil {
		assert.Equal(t, "5", v.Text())
	}
	_, err = store.Sweep(ctx)
	note(err)
	// Without its right, an entry of the index is not written, and no call fails.
	if names, err := admin.Keys(ctx, "~tx:{*:keys:*").Result(); assert.NoError(t, err) && len(names) == 0 {
		failed = append(failed, errors.New("NOPERM: the index has no names"))
	}
	return failed
}

// The rights of Transact in docs/security.md suffice, and each that it has besides those of single keys is necessary.
func TestLongMinimalACLOfTransact(t *testing.T) {
	long.Only(t)
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	use := func(words []string, also bool) (failed []error) {
		s := lockupdate.New(withRights(t, admin, server.Addr, words), lockupdate.Config{MaxWait: 2 * time.Second})
		failed = together(t, admin, s)
		if also {
			failed = append(failed, everything(t, admin, s, nil)...)
		}
		err := s.Close()
		if err != nil {
			failed = append(failed, err)
		}
		return failed
	}
	words, single := documentedRights(t, "security.md", "transact"), documentedRights(t, "security.md", "lockupdate")
	require.Empty(t, use(words, true), "the line as it stands")
	for _, word := range single[1:] {
		assert.Contains(t, words, word)
	}
	for _, left := range words[1:] {
		if slices.Contains(single, left) {
			continue
		}
		failed := use(slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == left }), false)
		if assert.NotEmpty(t, failed, "%s is too much: nothing fails without it", left) {
			t.Logf("without %s: %v", left, failed[0])
			assert.Positive(t, refusals(t, left, failed), "without %s: no error is about the rights", left)
		}
	}
}

// rightsOf returns the commands of a line of rights, without their subcommands.
func rightsOf(words []string) (commands []string) {
	for _, word := range words {
		if command, ok := strings.CutPrefix(word, "+"); ok {
			command, _, _ = strings.Cut(command, "|")
			commands = append(commands, strings.ToUpper(command))
		}
	}
	return commands
}
