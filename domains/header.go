package domains

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/rmw"
)

// Format is the version of the stored form. A field more is not a new Format,
// because nobody drops fields that he does not know. An entity of a later Format is
// refused: whoever raises it makes sure that all readers can follow first.
const Format = 1

// Remembered is how many operations an entity remembers.
const Remembered = 32

// versionName is the name of Header.Version in the store.
const versionName = "version"

// Header is what every entity begins with. Embed it.
type Header struct {
	// Format is the version of the stored form; 0 stands for a form from before
	// there was one.
	Format int `json:"format,omitempty"`
	// Version counts the changes. No two states of an entity have the same, so
	// a value that changes and changes back (A-B-A) does not look untouched. An entity
	// that was removed, or has expired, begins anew.
	Version uint64 `json:"version,omitempty"`
	// Applied are the last operations that changed the entity, the latest last.
	Applied []Applied `json:"applied,omitempty"`
}

// Applied is an operation that has happened.
type Applied struct {
	ID string `json:"id"`
	// Op is the operation's name. Who does not know this field leaves it out: then only the
	// id counts.
	Op string `json:"op,omitempty"`
	// Number is what the operation returned, for one that returns a number.
	Number uint64 `json:"number,omitempty"`
}

// Head returns h itself: with it, what embeds a Header is an [Entity].
func (h *Header) Head() *Header { return h }

// Has reports whether an operation with that id has happened, and what it returned.
// [Header.Find] looks at its name, too.
func (h *Header) Has(id string) (number uint64, ok bool) {
	i := slices.IndexFunc(h.Applied, func(a Applied) bool { return a.ID == id })
	if id == "" || i < 0 {
		return 0, false
	}
	return h.Applied[i].Number, true
}

// Find reports whether op has happened, and what it returned. That its id is the id of
// another operation is an [rmw.ErrInvalid]. An operation without a name, here or there,
// counts as the same.
func (h *Header) Find(op Op) (number uint64, done bool, err error) {
	i := slices.IndexFunc(h.Applied, func(a Applied) bool { return a.ID == op.ID })
	if op.ID == "" || i < 0 {
		return 0, false, nil
	}
	a := h.Applied[i]
	if a.Op != "" && op.Name != "" && a.Op != op.Name {
		return 0, false, fmt.Errorf("%w: the id %q was used for %q, and this is %q: two operations need two ids, see Op.For",
			rmw.ErrInvalid, op.ID, a.Op, op.Name)
	}
	return a.Number, true, nil
}

// record notes that a change has happened, and by which operation if it has an id.
func (h *Header) record(op Op, number uint64) {
	h.Format = Format
	h.Version++
	if op.ID == "" {
		return
	}
	keep := h.Applied[max(0, len(h.Applied)-(Remembered-1)):]
	// A copy: h may share its array with a state that somebody else still looks at.
	h.Applied = append(slices.Clip(slices.Clone(keep)), Applied{ID: op.ID, Op: op.Name, Number: number})
}

// check reports what is wrong with the Header.
func (h *Header) check() error {
	switch {
	case h.Format < 0 || h.Format > Format:
		return fmt.Errorf("format %d: this program knows formats up to %d", h.Format, Format)
	case len(h.Applied) > Remembered:
		return fmt.Errorf("%d operations remembered, at most %d are", len(h.Applied), Remembered)
	}
	for i, a := range h.Applied {
		if a.ID == "" {
			return errors.New("a remembered operation has no id")
		}
		if slices.ContainsFunc(h.Applied[:i], func(b Applied) bool { return a.ID == b.ID }) {
			return errors.New("an operation is remembered twice")
		}
	}
	return nil
}
