package rmw_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

type account struct {
	Cents int `json:"cents"`
}

// A transfer: both accounts are stored, or neither.
func ExampleEdit2() {
	accounts := rmw.NewTyped(rmwtest.NewMemory(), rmw.JSON[account]())
	ann, bob := accounts.At(rmw.Key{Name: "account:ann"}), accounts.At(rmw.Key{Name: "account:bob"})
	transfer := func(cents int) error {
		_, err := rmw.Edit2(context.Background(), ann, bob, func(_ context.Context, from, to *rmw.Item[account]) error {
			if from.Value.Cents < cents {
				return errors.New("not enough")
			}
			from.Value.Cents -= cents
			to.Value.Cents += cents
			return nil
		})
		return err
	}
	_, _, _ = accounts.Edit(context.Background(), rmw.Key{Name: "account:ann"}, func(_ context.Context, a *account, _ bool) error {
		a.Cents = 100
		return nil
	})
	fmt.Println(transfer(70), transfer(70))
	a, _, _ := accounts.Get(context.Background(), rmw.Key{Name: "account:ann"})
	b, _, _ := accounts.Get(context.Background(), rmw.Key{Name: "account:bob"})
	fmt.Println(a.Cents, b.Cents)

	// Output:
	// <nil> not enough
	// 30 70
}

// A queue: its head tells which job to read, so that the job is not named in the call.
func ExampleTransactFor() {
	store, ctx := rmwtest.NewMemory(), context.Background()
	for name, text := range map[string]string{"queue": "7 8", "job:7": "send"} {
		_ = store.Set(ctx, name, rmw.String(text), rmw.NoTTL)
	}
	queue := rmw.Key{Name: "queue"}
	// snippet:queue
	job, err := rmw.TransactFor(ctx, store, func(_ context.Context, tx *rmw.Tx) (string, error) {
		head, rest, _ := strings.Cut(tx.Get(queue).Text(), " ")
		job := rmw.Key{Name: "job:" + head}
		work := tx.Get(job).Text()
		tx.Put(queue, rmw.String(rest))
		tx.Put(job, rmw.Value{})
		return work, nil
	}, queue)
	// endsnippet
	left, _ := store.Read(ctx, queue)
	fmt.Println(job, err, left.Text())

	// Output:
	// send <nil> 8
}

// A record and its index by city: both change together.
func ExampleTransact() {
	store, ctx := rmwtest.NewMemory(), context.Background()
	record := rmw.Key{Name: "user:7", Kind: rmw.KindHash}
	// snippet:index
	move := func(city string) error {
		_, err := rmw.Transact(ctx, store, func(_ context.Context, tx *rmw.Tx) error {
			index := func(city string) rmw.Key { return rmw.Key{Name: "city:" + city, Kind: rmw.KindHash} }
			user := tx.Get(record)
			if old, ok := user.Field("city"); ok {
				tx.Put(index(old), tx.Get(index(old)).Without("7"))
			}
			tx.Put(index(city), tx.Get(index(city)).With("7", ""))
			tx.Put(record, user.With("city", city))
			return nil
		}, record)
		return err
	}
	// endsnippet
	fmt.Println(move("Bern"), move("Lima"))
	bern, lima := rmw.Key{Name: "city:Bern", Kind: rmw.KindHash}, rmw.Key{Name: "city:Lima", Kind: rmw.KindHash}
	values, err := rmw.ReadAll(ctx, store, record, bern, lima)
	fmt.Println(values[0].Fields(), values[1].Exists(), values[2].Fields(), err)

	// Output:
	// <nil> <nil>
	// map[city:Lima] false map[7:] <nil>
}

// plainStore cannot update several keys.
type plainStore struct{ rmw.Store }

func TestTransactNeedsATransactor(t *testing.T) {
	store := rmw.Chain(plainStore{rmwtest.NewMemory()}, rmw.Observe(func(context.Context, rmw.Event) {}))
	_, err := rmw.Transact(t.Context(), store, func(context.Context, *rmw.Tx) error { return nil }, roomKey)
	require.ErrorIs(t, err, rmw.ErrUnsupported)
	require.EqualError(t, err, `rmw: transact "room:7": unsupported by this server or proxy: `+
		`rmw_test.plainStore cannot update several keys together: use cas, lockupdate or rmwtest.Memory`)
}

func TestObserveTellsOfATransact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, events := watched(t)
		log, records := logTo(t, slog.LevelDebug)
		store = rmw.Chain(store, log)
		ctx := context.WithValue(t.Context(), ctxKey{}, "mine")
		keys := []rmw.Key{{Name: "a", Label: "account"}, {Name: "b"}}
		res, err := rmw.Transact(ctx, store, func(_ context.Context, tx *rmw.Tx) error {
			time.Sleep(3 * time.Second)
			tx.Put(keys[1], rmw.String("private"))
			return nil
		}, keys...)
		require.NoError(t, err)
		_, err = rmw.Transact(ctx, store, func(context.Context, *rmw.Tx) error { return errFull }, keys...)
		require.Equal(t, errFull, err)

		require.Equal(t, []rmw.Event{
			{Op: rmw.OpTransact, Key: keys[0], Keys: keys, Tx: res, Elapsed: 3 * time.Second},
			{Op: rmw.OpTransact, Key: keys[0], Keys: keys, Tx: rmw.TxResult{Attempts: 1}, Err: errFull},
		}, *events)
		assert.Equal(t, `rmw transact "a" label="account" keys=2 outcome=written attempts=1 took=3s`, (*events)[0].String())
		assert.Equal(t, []map[string]any{
			{
				"level": "DEBUG", "msg": "rmw transact", "key": "a", "label": "account", "keys": 2.0,
				"outcome": "written", "written": true, "attempts": 1.0, "waited": 0.0,
			},
			{
				"level": "INFO", "msg": "rmw transact", "key": "a", "label": "account", "keys": 2.0,
				"outcome": "refused", "written": false, "attempts": 1.0, "waited": 0.0, "err": errFull.Error(),
			},
		}, records())
	})
}

func TestTypedTx(t *testing.T) {
	typed, m := rooms(t, `{"title":"old","members":["ann"]}`)
	second := rmw.Key{Name: "room:8"}
	edit := func(change func(in rmw.TypedTx[room]) error) error {
		_, err := rmw.Transact(t.Context(), m, func(_ context.Context, tx *rmw.Tx) error { return change(typed.In(tx)) }, roomKey)
		return err
	}
	require.NoError(t, edit(func(in rmw.TypedTx[room]) error {
		r, exists := in.Get(roomKey)
		assert.True(t, exists)
		in.Put(second, r)
		_, exists = in.Get(rmw.Key{Name: "room:9"})
		assert.False(t, exists)
		return in.Edit(roomKey, func(r *room, _ bool) error {
			r.Members = append(r.Members, "bob")
			return nil
		})
	}))
	assert.JSONEq(t, `{"title":"old","members":["ann","bob"]}`, held(t, m).Text())

	require.Equal(t, errFull, edit(func(in rmw.TypedTx[room]) error {
		in.Remove(second)
		return in.Edit(roomKey, func(*room, bool) error { return errFull })
	}))
	require.NoError(t, edit(func(in rmw.TypedTx[room]) error {
		return errors.Join(
			in.Edit(roomKey, func(r *room, _ bool) error { r.Title = "lost"; return rmw.Keep }),
			in.Edit(second, func(*room, bool) error { return rmw.Remove }))
	}))
	assert.JSONEq(t, `{"title":"old","members":["ann","bob"]}`, held(t, m).Text())
	v, _, err := m.Get(t.Context(), second.Name)
	require.NoError(t, err)
	assert.False(t, v.Exists())

	require.NoError(t, m.Set(t.Context(), second.Name, rmw.String("private {"), rmw.NoTTL))
	err = edit(func(in rmw.TypedTx[room]) error {
		in.Remove(roomKey)
		in.Get(second)
		panic("fn goes on after a value that does not decode")
	})
	require.ErrorIs(t, err, rmw.ErrUndecodable)
	assert.NotContains(t, err.Error(), "private")
	assert.True(t, held(t, m).Exists())
}

// Get leaves fn from any depth of calls.
func TestTxLeavesDeepCalls(t *testing.T) {
	m := rmwtest.NewMemory()
	require.NoError(t, m.Set(t.Context(), "hash", rmw.Hash(map[string]string{"f": "v"}), rmw.NoTTL))
	var deep func(tx *rmw.Tx, n int)
	deep = func(tx *rmw.Tx, n int) {
		if n > 0 {
			deep(tx, n-1)
			return
		}
		tx.Get(rmw.Key{Name: "hash"})
		t.Error("Get has returned, though the key is of another kind")
	}
	for _, depth := range []int{0, 60, 1000} {
		_, err := rmw.Transact(t.Context(), m, func(_ context.Context, tx *rmw.Tx) error {
			deep(tx, depth)
			return nil
		}, roomKey)
		require.ErrorIs(t, err, rmw.ErrWrongKind)
	}
}

func TestEditsOfItems(t *testing.T) {
	typed, m := rooms(t, `{"title":"a"}`)
	one, two, three := typed.At(roomKey), typed.At(rmw.Key{Name: "two"}), typed.At(rmw.Key{Name: "three"})
	res, err := rmw.Edit3(t.Context(), one, two, three, func(_ context.Context, a, b, c *rmw.Item[room]) error {
		assert.True(t, a.Exists())
		assert.False(t, b.Exists())
		b.Value = a.Value
		a.Remove()
		c.Value.Title = "lost"
		c.Keep()
		return nil
	})
	require.NoError(t, err)
	var written []bool
	for _, c := range res.Changes {
		written = append(written, c.Written)
	}
	assert.Equal(t, []bool{true, true, false}, written)
	assert.False(t, held(t, m).Exists())

	other, _ := rooms(t, "")
	_, err = rmw.Edit2(t.Context(), one, other.At(roomKey), func(context.Context, *rmw.Item[room], *rmw.Item[room]) error {
		return errors.New("called")
	})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.ErrorContains(t, err, "two Stores")
}
