package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// seatCount is the number of seats of a show.
const seatCount = 12

func seatKey(n int, generation int64) rmw.Key {
	return rmw.Key{Name: fmt.Sprintf("%s%s-%d:%d", keyPrefix, seatKind, n, generation)}
}

// recordKey is the key of a booking.
func recordKey(id string, generation int64) rmw.Key {
	return rmw.Key{Name: fmt.Sprintf("%s%s-%s:%d", keyPrefix, recordKind, id, generation), Kind: rmw.KindHash}
}

// indexKey is the key of the index of a show, which is a string in every second one.
func indexKey(generation int64) rmw.Key {
	key := rmw.Key{Name: fmt.Sprintf("%s%s:%d", keyPrefix, indexKind, generation)}
	if generation%2 == 0 {
		key.Kind = rmw.KindHash
	}
	return key
}

// indexed returns the bookings in an index, with their seats.
func indexed(v rmw.Value) map[string]string {
	if v.Kind() == rmw.KindHash {
		return v.Fields()
	}
	all := map[string]string{}
	for _, entry := range listed(v.Text()) {
		id, seats, _ := strings.Cut(entry, "=")
		all[id] = seats
	}
	return all
}

// index returns an index of bookings. Without any it does not exist.
func index(key rmw.Key, all map[string]string) rmw.Value {
	if len(all) == 0 {
		return rmw.Value{}
	}
	if key.Kind == rmw.KindHash {
		return rmw.Hash(all)
	}
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(all)) {
		text.WriteString(id + "=" + all[id] + ",")
	}
	return rmw.String(text.String())
}

// show is what one read of seats, index and records has found.
type show struct {
	seats   map[string]string // the number of a seat to its booking
	index   map[string]string
	records map[string]string // of all bookings that a seat or the index names
}

// problem returns "" if seats, index and records agree.
func (s show) problem() string {
	taken := map[string]string{}
	for id, seats := range s.index {
		if s.records[id] != seats {
			return fmt.Sprintf("booking %s has seats %s in the index, and %q in its record", id, seats, s.records[id])
		}
		for seat := range strings.SplitSeq(seats, "+") {
			if other := taken[seat]; other != "" {
				return fmt.Sprintf("seat %s has two bookings, %s and %s", seat, id, other)
			}
			taken[seat] = id
			if s.seats[seat] != id {
				return fmt.Sprintf("booking %s has seat %s, which is that of %q", id, seat, s.seats[seat])
			}
		}
	}
	for seat, id := range s.seats {
		if id != "" && taken[seat] != id {
			return fmt.Sprintf("seat %s is that of %s, which is not in the index", seat, id)
		}
	}
	return ""
}

// readShow reads all of a show. Records are named by seats and index, so that they are read late.
func readShow(tx *rmw.Tx, generation int64) show {
	s := show{seats: map[string]string{}, index: indexed(tx.Get(indexKey(generation))), records: map[string]string{}}
	ids := slices.Collect(maps.Keys(s.index))
	for n := range seatCount {
		id := tx.Get(seatKey(n, generation)).Text()
		s.seats[fmt.Sprint(n)] = id
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		s.records[id] = tx.Get(recordKey(id, generation)).Fields()["seats"]
	}
	return s
}

// seats is one step of a customer: book, cancel, or look.
func (w *worker) seats() Outcome {
	generation := w.generation(seatKind)
	switch w.rng.IntN(6) {
	case 0:
		return w.look(generation)
	case 1, 2:
		return w.cancelBooking(generation)
	}
	return w.book(generation)
}

// errTaken is the error of a customer who gets none of the seats.
var errTaken = errors.New("a seat is taken")

func (w *worker) book(generation int64) Outcome {
	j := Joint{ID: w.id()}
	keys := []rmw.Key{indexKey(generation), recordKey(j.ID, generation)}
	var names []string
	for _, n := range w.rng.Perm(seatCount)[:2+w.rng.IntN(3)] {
		keys, names = append(keys, seatKey(n, generation)), append(names, fmt.Sprint(n))
	}
	seats := strings.Join(names, "+")
	return w.booking(j, keys, func(tx *rmw.Tx) error {
		for _, key := range keys[2:] {
			if tx.Get(key).Exists() {
				return errTaken
			}
		}
		for _, key := range keys[2:] {
			tx.Put(key, rmw.String(j.ID))
		}
		all := indexed(tx.Get(keys[0]))
		all[j.ID] = seats
		tx.Put(keys[0], index(keys[0], all))
		tx.Put(keys[1], rmw.Hash(map[string]string{"seats": seats}))
		return nil
	})
}

// booking runs a Transact of a customer, and records it unless it writes nothing.
func (w *worker) booking(j Joint, keys []rmw.Key, fn func(tx *rmw.Tx) error) Outcome {
	ctx, cancel := w.limited()
	defer cancel()
	for _, key := range keys {
		j.Keys = append(j.Keys, key.Name)
	}
	w.begins(&j)
	stall, stalls := w.clientFaults.stall.draw(w.rng)
	_, err := rmw.Transact(ctx, w.store.(rmw.Store), func(_ context.Context, tx *rmw.Tx) error {
		if stalls {
			_ = pause(context.Background(), stall) // ignores ctx, as a stalled process would
		}
		return fn(tx)
	}, keys...)
	if errors.Is(err, errTaken) {
		j.ID, j.Cancels, err = "", "", nil
	}
	return w.ends(&j, err)
}

// cancelBooking cancels a booking that the index names.
func (w *worker) cancelBooking(generation int64) Outcome {
	key := indexKey(generation)
	ctx, cancel := w.limited()
	defer cancel()
	v, err := w.store.(rmw.Store).Read(ctx, key)
	if err != nil {
		return NotWritten
	}
	all := indexed(v)
	if len(all) == 0 {
		return Acknowledged
	}
	id := slices.Sorted(maps.Keys(all))[w.rng.IntN(len(all))]
	record := recordKey(id, generation)
	return w.booking(Joint{Cancels: id}, []rmw.Key{key, record}, func(tx *rmw.Tx) error {
		bookings, seats := indexed(tx.Get(key)), tx.Get(record).Fields()["seats"]
		if seats == "" {
			return errTaken // another process has cancelled it
		}
		for seat := range strings.SplitSeq(seats, "+") {
			tx.Put(seatKey(number(seat), generation), rmw.Value{})
		}
		tx.Put(record, rmw.Value{})
		delete(bookings, id)
		tx.Put(key, index(key, bookings))
		return nil
	})
}

// look reads a show, and notes what contradicts itself.
func (w *worker) look(generation int64) Outcome {
	keys := []rmw.Key{indexKey(generation)}
	for n := range seatCount {
		keys = append(keys, seatKey(n, generation))
	}
	ctx, cancel := w.limited()
	defer cancel()
	j := Joint{Keys: []string{keys[0].Name}}
	w.begins(&j)
	s, err := rmw.TransactFor(ctx, w.store.(rmw.Store), func(_ context.Context, tx *rmw.Tx) (show, error) {
		return readShow(tx, generation), nil
	}, keys...)
	if err == nil {
		j.Wrong = s.problem()
	}
	return w.ends(&j, err)
}
