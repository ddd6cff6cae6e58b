package torture

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// bankControls returns the negative controls of updates of several keys.
func bankControls() []Control {
	torn := func(v *Verdict) bool { return v.Partial > 0 }
	sealing := func(flaw flaw) func(rdb redis.UniversalClient) rmw.Store {
		return func(rdb redis.UniversalClient) rmw.Store {
			return &sealer{openLockupdate(rdb).(*lockupdate.Store), scripts{rdb}, flaw}
		}
	}
	return []Control{
		{"bank no decision", "seals that are opened with the new values, without a record of the decision", "redis", "process-kill", torn,
			variant{bank: true, open: sealing(undecided)}},
		{"bank blind seal", "a seal of another update is opened without its decision", "redis", "process-kill", torn,
			variant{bank: true, open: sealing(blind)}},
		{"bank locks only", "WithLocks around GET and SET", "redis", "process-kill", torn,
			variant{bank: true, open: func(rdb redis.UniversalClient) rmw.Store {
				return &lockedAll{openLockupdate(rdb).(*lockupdate.Store), naive{rdb: rdb}}
			}}},
		{"bank two homes", "a cut-over that updates each key at its own home", "old>codis", "none", torn,
			variant{bank: true, across: func(clients [2]redis.UniversalClient, process int, stage cutover.Source) rmw.Store {
				return twoHomes{openAcross(clients, process, stage).(crossing)}
			}, open: openLockupdate}},
	}
}

// twoHomes updates several keys one after the other, each at its home.
type twoHomes struct{ crossing }

// Transact implements [rmw.Transactor].
func (s twoHomes) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (result rmw.TxResult, err error) {
	given := make([]rmw.Value, len(keys))
	for i, key := range keys {
		if given[i], err = s.Read(ctx, key); err != nil {
			return result, err
		}
	}
	run := rmw.NewTxRun(s.Store, keys, given, s.Read)
	aborted, err := run.Do(ctx, fn, func() error { return nil })
	if err := errors.Join(aborted, err); err != nil {
		return result, err
	}
	for i, c := range run.Changes() {
		if !c.Written {
			continue
		}
		_, err := s.Update(ctx, c.Key, func(context.Context, rmw.Value) (rmw.Value, error) { return c.After, nil })
		if err != nil {
			if i > 0 {
				err = errors.Join(rmw.ErrOutcomeUnknown, err)
			}
			return result, err
		}
	}
	return result, nil
}

// lockedAll updates several keys one after the other, while it has their locks.
type lockedAll struct {
	*lockupdate.Store
	plain naive
}

// Transact implements [rmw.Transactor].
func (s *lockedAll) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (result rmw.TxResult, err error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Name
	}
	err = s.WithLocks(ctx, names, func(ctx context.Context) error {
		given := make([]rmw.Value, len(keys))
		for i, key := range keys {
			if given[i], err = s.plain.Read(ctx, key); err != nil {
				return err
			}
		}
		run := rmw.NewTxRun(s, keys, given, s.plain.Read)
		aborted, err := run.Do(ctx, fn, func() error { return nil })
		if err := errors.Join(aborted, err); err != nil {
			return err
		}
		for i, c := range run.Changes() {
			if !c.Written {
				continue
			}
			if err := s.plain.put(ctx, c.Key, c.After); err != nil {
				if i > 0 {
					err = errors.Join(rmw.ErrOutcomeUnknown, err)
				}
				return err
			}
		}
		return nil
	})
	return result, err
}

// put writes or deletes a value.
func (s *naive) put(ctx context.Context, key rmw.Key, v rmw.Value) error {
	pipe := s.rdb.Pipeline()
	if v.Exists() {
		s.write(ctx, pipe, key, v)
	} else {
		pipe.Del(ctx, key.Name)
	}
	_, err := pipe.Exec(ctx)
	return err
}

// scripts implements [seal.Sender].
type scripts struct{ rdb redis.UniversalClient }

// Send implements [seal.Sender].
func (s scripts) Send(ctx context.Context, calls ...*seal.Call) error {
	for _, c := range calls {
		c.Reply, c.Err = s.rdb.Eval(ctx, c.Script.Source, []string{c.Key}, c.Args...).Result()
		if errors.Is(c.Err, redis.Nil) {
			c.Err = nil
		}
	}
	return ctx.Err()
}

// flaw is the mistake of a sealer.
type flaw int

const (
	undecided flaw = iota // opens its keys without a decision
	blind                 // opens the keys of others without their decision
)

// sealer updates several keys by the scripts of the product.
type sealer struct {
	*lockupdate.Store
	scripts scripts
	flaw    flaw
}

// errTwice is the reason of another attempt.
var errTwice = errors.New("a key was sealed")

// Transact implements [rmw.Transactor].
func (s *sealer) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	for {
		err := s.attempt(ctx, keys, fn)
		if !errors.Is(err, errTwice) {
			return rmw.TxResult{}, err
		}
		if err := pause(ctx, 0); err != nil {
			return rmw.TxResult{}, err
		}
	}
}

func (s *sealer) attempt(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) error {
	id, decision := rand.Text(), seal.DecisionKey(keys[0].Name)
	var taken []seal.Next
	giveBack := func(err error) error {
		for _, n := range taken {
			n.Kept = true
			_ = s.send(ctx, seal.Open, n.Key, seal.OpenArgs(n)...).Err
		}
		return err
	}
	take := func(ctx context.Context, key rmw.Key) (rmw.Value, error) {
		n := seal.Next{Key: key.Name, Nonce: fmt.Sprintf("%s/%d", id, len(taken))}
		c := s.send(ctx, seal.Take, key.Name, seal.TakeArgs(key, n.Nonce, decision, seal.CheckAll)...)
		reply, _ := c.Reply.([]any)
		if c.Err != nil || len(reply) == 0 {
			return rmw.Value{}, errors.Join(errors.New("take"), c.Err)
		}
		if reply[0] != int64(1) {
			return rmw.Value{}, errors.Join(errTwice, s.meet(ctx, key))
		}
		taken = append(taken, n)
		return valueOf(key, reply[1:]), nil
	}
	given := make([]rmw.Value, len(keys))
	for i, key := range keys {
		var err error
		if given[i], err = take(ctx, key); err != nil {
			return giveBack(err)
		}
	}
	run := rmw.NewTxRun(s, keys, given, take)
	aborted, err := run.Do(ctx, fn, func() error { return nil })
	if err := errors.Join(aborted, err); err != nil {
		return giveBack(err)
	}
	for i, c := range run.Changes() {
		taken[i].Value, taken[i].Kept = c.After, !c.Written
	}
	if s.flaw == blind {
		c := s.send(ctx, seal.Ask, decision, id, seal.Committed(taken))
		if c.Err != nil {
			return errors.Join(rmw.ErrOutcomeUnknown, c.Err)
		}
		if c.Reply != int64(1) {
			return giveBack(errTwice)
		}
	}
	for _, n := range taken {
		if c := s.send(ctx, seal.Open, n.Key, seal.OpenArgs(n)...); c.Err != nil {
			return errors.Join(rmw.ErrOutcomeUnknown, c.Err)
		}
	}
	return nil
}

// meet deals with a foreign seal.
func (s *sealer) meet(ctx context.Context, key rmw.Key) error {
	m, err := seal.LookAt(ctx, s.scripts, key.Name)
	if err != nil || m.State == "open" {
		return err
	}
	if s.flaw == blind {
		return s.send(ctx, seal.Open, key.Name, seal.OpenArgs(seal.Next{Key: key.Name, Nonce: m.Nonce, Kept: true})...).Err
	}
	_, err = seal.Resolve(ctx, s.scripts, key.Name, m)
	return err
}

func (s *sealer) send(ctx context.Context, script *seal.Script, key string, args ...any) *seal.Call {
	c := &seal.Call{Script: script, Key: key, Args: args}
	if err := s.scripts.Send(ctx, c); err != nil {
		c.Err = errors.Join(c.Err, err)
	}
	return c
}

// valueOf reads the value that a key had when it was taken.
func valueOf(key rmw.Key, reply []any) rmw.Value {
	text := func(i int) string { s, _ := reply[i].(string); return s }
	switch {
	case len(reply) == 0:
		return rmw.Value{}
	case key.Kind != rmw.KindHash:
		return rmw.String(text(0))
	}
	fields := map[string]string{}
	for i := 0; i+1 < len(reply); i += 2 {
		fields[text(i)] = text(i + 1)
	}
	return rmw.Hash(fields)
}
