package lockupdate

import (
	"context"
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/several"
	"github.com/unwatch/unwatch/rmw"
)

// Transact implements [rmw.Transactor]: by two flushes before the answer, of scripts with one key each. It takes no lock.
//
// While fn runs, its keys are sealed: an Update or a Transact of one of them waits, a Read returns the value before, and a
// program that reads the key without a Store gets WRONGTYPE, or nil from MGET. A fn that runs for longer than 250 ms
// would keep others waiting: it is called again on values that are not sealed, at one round trip more, and so are later ones
// with the same Label of the first key.
//
// A process may stop at any command: the next one that meets its keys ends its update, after up to a second.
//
// It needs scripts: with another Commit than [CommitGuarded], and with [Config.SoleWriter], it is an [rmw.ErrUnsupported]. So is
// a hash with field expiries. While a Redis Cluster moves the slot of a key, Transact waits.
func (s *Store) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	var first rmw.Key
	if len(keys) > 0 {
		first = keys[0]
	}
	keys, err := s.beginSeveral(ctx, keys, fn)
	if err != nil {
		return rmw.TxResult{}, driver.Fail("transact", first, 0, err)
	}
	defer s.gate.Leave()
	return s.several.Transact(ctx, keys, fn)
}

var errSoleWriter = fmt.Errorf(
	"%w: Transact takes no lock, and Config.SoleWriter promises that every writer does; leave it unset", rmw.ErrUnsupported)

// beginSeveral admits an update of several keys, and returns them without repetitions.
func (s *Store) beginSeveral(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) ([]rmw.Key, error) {
	if fn == nil {
		return nil, errNoFn
	}
	keys, err := rmw.TxKeys(keys)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if strings.HasPrefix(key.Name, seal.DecisionPrefix) {
			return nil, fmt.Errorf("%w: the key %.128q has the name of a decision; use other names for keys", rmw.ErrInvalid, key.Name)
		}
		if outer := s.keeper.Held(ctx, s.cfg.LockName(key.Name)); outer != nil && !outer.Section() || s.sealing(ctx, key.Name) {
			return nil, errNested
		}
	}
	if err := rmw.CheckTx(ctx, s, ""); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, keys[0]); err != nil {
		return nil, err
	}
	err = s.transport.Driver.Seals()
	if s.cfg.SoleWriter {
		err = errSoleWriter
	}
	if err != nil {
		s.gate.Leave()
		return nil, err
	}
	return keys, nil
}

// Swept is the result of a [Store.Sweep].
type Swept = several.Swept

// Sweep ends the updates of several keys that dead processes have left: it opens their keys, and a day later deletes their
// decisions. A process counts as dead two minutes after its last sign of life, by the clocks of both; if it lives, an update
// of it may be aborted, and is made again. Every Store that has called Transact sweeps once a minute; Sweep does it now. It
// looks only at keys of dead processes, and costs one command if there is none.
func (s *Store) Sweep(ctx context.Context) (Swept, error) {
	err := s.begin(ctx, rmw.Key{Name: "sweep"})
	if err == nil {
		defer s.gate.Leave()
		err = s.transport.Driver.Seals()
	}
	if err != nil {
		return Swept{}, driver.Fail("sweep", rmw.Key{}, 0, err)
	}
	swept, err := s.several.Sweep(ctx)
	if err != nil {
		return Swept{}, err
	}
	return swept, nil
}
