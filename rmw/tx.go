package rmw

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/unwatch/unwatch/rmw/internal/ttl"
)

// Tx is one call of a [TxFunc]. It belongs to that call and to its goroutine: used by two goroutines at once, it
// fails the Transact, and used after fn has returned, it panics.
type Tx struct{ run *TxRun }

// Get returns the value of a key, the zero Value if there is none, or what the same call of fn has put. A key that
// was not named in the call of Transact is read now. If that fails, Get does not return: fn is left, and Transact
// returns the reason.
//
// The Kind and TTL of a key are those of its first mention. A later mention may leave them zero.
func (tx *Tx) Get(key Key) Value { return tx.run.get(key) }

// Put has the value stored under key, or the key deleted if it is the zero Value, when fn returns nil. A key that was not
// read is read first. If the value cannot be stored, fn is left, as by [Tx.Get].
func (tx *Tx) Put(key Key, v Value) { tx.run.put(key, v) }

// Changes returns all keys so far, in the order of their first mention, each with the value that fn got and the one it put. It is
// for authors of middleware. Call it before fn returns.
func (tx *Tx) Changes() (changes []Change) {
	tx.run.use(func() error {
		changes = slices.Clone(tx.run.entries)
		return nil
	})
	return changes
}

// TxRun is the side of a [Tx] that a Store has. It is for authors of Stores.
type TxRun struct {
	ctx   context.Context
	owner any
	read  func(ctx context.Context, key Key) (Value, error)

	using   sync.Mutex // by fn
	entries []Change
	over    bool
	failed  error
	misused atomic.Bool
}

// NewTxRun returns the run of a fn over keys and their values. read reads a further key; its error ends fn,
// and TxRun.Do returns it. owner is the Store, by which [CheckTx] tells Stores apart.
func NewTxRun(owner any, keys []Key, values []Value, read func(ctx context.Context, key Key) (Value, error)) *TxRun {
	r := &TxRun{owner: owner, read: read, entries: make([]Change, len(keys))}
	for i, key := range keys {
		r.entries[i] = Change{Key: key, Before: values[i], After: values[i]}
	}
	return r
}

// TxKeys returns the keys of a Transact without repetitions, or an [ErrInvalid] if they cannot be used together.
func TxKeys(keys []Key) ([]Key, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: no key is named; name at least one that fn reads or writes", ErrInvalid)
	}
	distinct := make([]Key, 0, len(keys))
	for _, key := range keys {
		if err := key.Validate(); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(distinct, func(k Key) bool { return k.Name == key.Name })
		if i < 0 {
			distinct = append(distinct, key)
		} else if err := sameKey(distinct[i], key); err != nil {
			return nil, err
		}
	}
	if len(distinct) > MaxTxKeys {
		return nil, tooManyKeys(len(distinct))
	}
	return distinct, nil
}

func tooManyKeys(n int) error {
	return fmt.Errorf("%w: %d keys, at most %d can be updated together", ErrInvalid, n, MaxTxKeys)
}

// sameKey returns an error if a later mention of a key contradicts the first.
func sameKey(first, later Key) error {
	switch {
	case later.Kind != 0 && later.Kind != first.Kind:
		return fmt.Errorf("%w: key %s is mentioned first as a %v, then as a %v",
			ErrInvalid, quoteKey(first.Name), first.Kind, later.Kind)
	case later.TTL != 0 && later.TTL != first.TTL:
		return fmt.Errorf("%w: key %s is mentioned with two TTLs, %v and %v",
			ErrInvalid, quoteKey(first.Name), first.TTL, later.TTL)
	}
	return nil
}

type txKey struct{}

// CheckTx returns an [ErrInvalid] if ctx is that of the fn of a Transact of the same owner which uses the key: its update
// could not end before fn does. A key named "" stands for any.
func CheckTx(ctx context.Context, owner any, name string) error {
	for r, _ := ctx.Value(txKey{}).(*TxRun); r != nil; r, _ = r.ctx.Value(txKey{}).(*TxRun) {
		if r.owner != owner {
			continue
		}
		if name == "" {
			return fmt.Errorf("%w: a Transact within the fn of a Transact; get and put all keys in one", ErrInvalid)
		}
		if slices.ContainsFunc(r.entries, func(c Change) bool { return c.Key.Name == name }) {
			return fmt.Errorf("%w: an Update of a key of the Transact within its fn; use Put", ErrInvalid)
		}
	}
	return nil
}

// txAbort unwinds fn.
type txAbort struct{ run *TxRun }

// Do calls fn, once. aborted is the error of fn itself, and err any other reason why nothing may be stored. An error or a
// panic of fn may come of values of two moments, so that it passes through only if check, called then, returns nil.
func (r *TxRun) Do(ctx context.Context, fn TxFunc, check func() error) (aborted, err error) {
	r.ctx = ctx
	defer func() {
		p := recover()
		r.end()
		abort, unwound := p.(txAbort)
		unwound = unwound && abort.run == r
		switch {
		case r.failed != nil:
			aborted, err = nil, r.failed
		case p != nil && !unwound:
			if err = check(); err == nil {
				panic(p)
			}
		case aborted != nil:
			if err = check(); err != nil {
				aborted = nil
			}
		}
	}()
	return fn(context.WithValue(ctx, txKey{}, r), &Tx{r}), nil
}

// end waits for a call that another goroutine makes, and refuses later ones.
func (r *TxRun) end() {
	r.using.Lock()
	defer r.using.Unlock()
	r.over = true
	if r.misused.Load() && r.failed == nil {
		r.failed = fmt.Errorf("%w: two goroutines used a Tx at once; only the goroutine of fn may", ErrInvalid)
	}
}

// Drop forgets what fn has put, for a check of the values that it has read.
func (r *TxRun) Drop() {
	for i := range r.entries {
		r.entries[i].After, r.entries[i].Written = r.entries[i].Before, false
	}
}

// Changes returns the keys that fn has read and put, once Do has returned nil.
func (r *TxRun) Changes() []Change { return r.entries }

// use calls do, unless the Tx is used elsewhere.
func (r *TxRun) use(do func() error) {
	if !r.using.TryLock() {
		r.misused.Store(true)
		return
	}
	defer r.using.Unlock()
	switch {
	case r.over:
		panic(fmt.Errorf("%w: a Tx was used after fn had returned", ErrInvalid))
	case r.failed == nil:
		r.failed = do()
	}
	if r.failed != nil && r.withinDo() {
		panic(txAbort{r})
	}
}

// withinDo reports whether the goroutine is that of Do. A panic on another one would end the process.
func (r *TxRun) withinDo() bool {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			if frame, more = frames.Next(); strings.HasSuffix(frame.Function, "rmw.(*TxRun).Do") {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

func (r *TxRun) get(key Key) (v Value) {
	r.use(func() error {
		i, err := r.entry(key)
		if err == nil {
			v = r.entries[i].After
		}
		return err
	})
	return v
}

func (r *TxRun) put(key Key, v Value) {
	r.use(func() error {
		i, err := r.entry(key)
		if err != nil {
			return err
		}
		c := &r.entries[i]
		switch problem := ttl.Invalid(v.TTL()); {
		case v.Exists() && v.Kind() != c.Key.Kind:
			return fmt.Errorf("%w: fn put a %v under key %s of Kind %v", ErrWrongKind, v.Kind(), quoteKey(c.Key.Name), c.Key.Kind)
		case problem != "":
			return fmt.Errorf("%w: the TTL of the Value put under key %s %s", ErrInvalid, quoteKey(c.Key.Name), problem)
		}
		c.After, c.Written = v, v.TTL() != 0 || !v.Equal(c.Before)
		n := 0
		for _, c := range r.entries {
			if c.Written {
				n += c.After.Size()
			}
		}
		if n > MaxTxBytes {
			return fmt.Errorf("%w: fn put %d bytes, at most %d can be written together", ErrInvalid, n, MaxTxBytes)
		}
		return nil
	})
}

// entry returns the index of a key in entries. A new key is read.
func (r *TxRun) entry(key Key) (int, error) {
	if i := slices.IndexFunc(r.entries, func(c Change) bool { return c.Key.Name == key.Name }); i >= 0 {
		return i, sameKey(r.entries[i].Key, key)
	}
	if err := key.Validate(); err != nil {
		return 0, err
	}
	if len(r.entries) == MaxTxKeys {
		return 0, tooManyKeys(MaxTxKeys + 1)
	}
	v, err := r.read(r.ctx, key)
	if err != nil {
		return 0, err
	}
	r.entries = append(r.entries, Change{Key: key, Before: v, After: v})
	return len(r.entries) - 1, nil
}

// fail leaves fn with an error.
func (r *TxRun) fail(err error) {
	r.use(func() error { return err })
}
