package torture

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// The size of a bank.
const (
	bankAccounts = 12
	bankOpening  = 100 // the balance of an account that does not exist
	bankMost     = 8   // accounts of a transfer
)

// The kinds of a bank's values, as in their keys.
const (
	bankKind    = "bank"    // balance and ids, in a string or in a hash
	seatKind    = "seat"    // the booking of a seat
	recordKind  = "record"  // the seats of a booking, in a hash
	indexKind   = "index"   // all bookings with their seats, in a hash or in a string
	balanceName = "balance" // the field of a hash
)

// Prefix is the ids that an account had at a moment.
type Prefix struct {
	N    int    // the number of ids
	Last string // the last of them
}

// Joint is an update or a read of one or several accounts, or a step at the booking of seats.
type Joint struct {
	Process int
	Keys    []string
	ID      string   // that the update adds to all keys; the id of a booking; "": it writes nothing
	Cancels string   // the booking that it cancels
	Seen    []Prefix // of each key, as the last fn got it; none of a booking
	Outcome Outcome
	Call    int64
	Return  int64
	Err     string
	Wrong   string // the values that were read contradict one another
	Odd     bool   // an error that no fault explains
}

// watchTransacts reports whether the legacy path can.
func watchTransacts() bool {
	_, ok := any((*cas.Store)(nil)).(rmw.Transactor)
	return ok
}

// bankWorks returns the tasks of a process in a cell of the bank.
func bankWorks() []Work {
	transfers := Work{"transfers", "Transact over 2 to 8 accounts, some of them named late", (*worker).move}
	return []Work{
		transfers, transfers,
		{"accounts", "Update of one account, and ReadAll of all of them", (*worker).account},
		{"seats", "book 2 to 4 seats or none, cancel a booking, and read record and index", (*worker).seats},
	}
}

// accountKey returns the key of an account: half of them are hashes.
func accountKey(n int, generation int64) rmw.Key {
	key := rmw.Key{Name: fmt.Sprintf("%s%s-%d:%d", keyPrefix, bankKind, n, generation)}
	if n%2 == 1 {
		key.Kind = rmw.KindHash
	}
	return key
}

// split takes an account apart.
func split(v rmw.Value) (balance int, ids []string) {
	switch {
	case !v.Exists():
		return bankOpening, nil
	case v.Kind() == rmw.KindHash:
		fields := v.Fields()
		balance = number(fields[balanceName])
		delete(fields, balanceName)
		return balance, ordered(fields)
	}
	text, list, _ := strings.Cut(v.Text(), ";")
	return number(text), listed(list)
}

// posted returns the account with one more id.
func posted(v rmw.Value, key rmw.Key, id string, amount int) rmw.Value {
	balance, ids := split(v)
	if key.Kind == rmw.KindHash {
		return v.With(balanceName, strconv.Itoa(balance+amount)).With(id, strconv.Itoa(len(ids)))
	}
	_, list, _ := strings.Cut(v.Text(), ";")
	return rmw.String(fmt.Sprintf("%d;%s%s,", balance+amount, list, id))
}

func placeIn(v rmw.Value) Prefix {
	_, ids := split(v)
	p := Prefix{N: len(ids)}
	if p.N > 0 {
		p.Last = ids[p.N-1]
	}
	return p
}

// errOverdraft is the error of a fn. It proves a balance, as a read does.
var errOverdraft = errors.New("the balance does not suffice")

// move transfers money from one account to several others.
func (w *worker) move() Outcome {
	generation := w.generation(bankKind)
	var keys []rmw.Key
	for _, n := range w.rng.Perm(bankAccounts)[:2+w.rng.IntN(bankMost-1)] {
		keys = append(keys, accountKey(n, generation))
	}
	each, named := 1+w.rng.IntN(30/len(keys)), len(keys)
	if w.rng.IntN(4) == 0 {
		named = 1 + w.rng.IntN(len(keys))
	}
	return w.joint(Joint{ID: w.id()}, keys, named, func(tx *rmw.Tx, values []rmw.Value, id string) error {
		if balance, _ := split(values[0]); balance < each*(len(keys)-1) {
			return errOverdraft
		}
		for i, key := range keys {
			amount := each
			if i == 0 {
				amount = -each * (len(keys) - 1)
			}
			tx.Put(key, posted(values[i], key, id, amount))
		}
		return nil
	})
}

// joint runs a Transact over keys, of which some are named beforehand, and records it.
func (w *worker) joint(j Joint, keys []rmw.Key, named int, fn func(tx *rmw.Tx, values []rmw.Value, id string) error) Outcome {
	ctx, cancel := w.limited()
	defer cancel()
	for _, key := range keys {
		j.Keys = append(j.Keys, key.Name)
	}
	w.begins(&j)
	stall, stalls := w.clientFaults.stall.draw(w.rng)
	var seen atomic.Pointer[[]Prefix] // fn may run after Transact has returned
	_, err := rmw.Transact(ctx, w.store.(rmw.Store), func(_ context.Context, tx *rmw.Tx) error {
		values, places := make([]rmw.Value, len(keys)), make([]Prefix, len(keys))
		for i, key := range keys {
			values[i] = tx.Get(key)
			places[i] = placeIn(values[i])
		}
		seen.Store(&places)
		if stalls {
			_ = pause(context.Background(), stall) // ignores ctx, as a stalled process would
		}
		return fn(tx, values, j.ID)
	}, keys[:named]...)
	if places := seen.Load(); places != nil {
		j.Seen = *places
	}
	if errors.Is(err, errOverdraft) {
		j.ID, err = "", nil
	}
	return w.ends(&j, err)
}

// begins records the start of an operation.
func (w *worker) begins(j *Joint) {
	j.Process, j.Call = w.number, int64(w.history.now())
	if w.begin != nil {
		w.begin(said{Begin: true, Joint: j})
	}
}

// ends records the outcome of an operation. In the history of a child an operation without an id that has failed ends, too.
func (w *worker) ends(j *Joint, err error) Outcome {
	j.Return = int64(w.history.now())
	var op Operation
	op.end(err)
	j.Outcome, j.Err = op.Outcome, op.Err
	j.Odd = errors.Is(err, rmw.ErrWrongKind) || errors.Is(err, rmw.ErrUnsupported) || errors.Is(err, rmw.ErrInvalid)
	if legacy := w.number >= processes*maxWorks; legacy && errors.Is(err, seal.ErrMoved) {
		j.Odd = false // the process knows the old store of a cut-over only
	}
	w.history.take(said{Joint: j})
	return j.Outcome
}

// account updates one account by itself, or reads all of them.
func (w *worker) account() Outcome {
	generation := w.generation(bankKind)
	if w.rng.IntN(2) == 0 {
		return w.readAccounts(generation)
	}
	key := accountKey(w.rng.IntN(bankAccounts), generation)
	ctx, cancel := w.limited()
	defer cancel()
	j := Joint{ID: w.id(), Keys: []string{key.Name}}
	w.begins(&j)
	stall, stalls := w.clientFaults.stall.draw(w.rng)
	var seen atomic.Pointer[Prefix]
	_, err := w.store.(rmw.Store).Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		place := placeIn(cur)
		seen.Store(&place)
		if stalls {
			_ = pause(context.Background(), stall)
		}
		return posted(cur, key, j.ID, 0), nil
	})
	if place := seen.Load(); place != nil {
		j.Seen = []Prefix{*place}
	}
	return w.ends(&j, err)
}

// readAccounts reads all accounts as of one moment.
func (w *worker) readAccounts(generation int64) Outcome {
	var keys []rmw.Key
	var j Joint
	for n := range bankAccounts {
		keys = append(keys, accountKey(n, generation))
		j.Keys = append(j.Keys, keys[n].Name)
	}
	ctx, cancel := w.limited()
	defer cancel()
	w.begins(&j)
	values, err := rmw.ReadAll(ctx, w.store.(rmw.Store), keys...)
	if err == nil {
		j.Wrong = unbalanced(values)
		for _, v := range values {
			j.Seen = append(j.Seen, placeIn(v))
		}
	}
	return w.ends(&j, err)
}

// unbalanced returns "" if the accounts have the sum that they have had from the start.
func unbalanced(values []rmw.Value) string {
	sum := 0
	for _, v := range values {
		balance, _ := split(v)
		sum += balance
	}
	if sum != bankAccounts*bankOpening {
		return fmt.Sprintf("the sum of all accounts is %d, and was %d from the start", sum, bankAccounts*bankOpening)
	}
	return ""
}
