package domains

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/rmw"
)

// Format is the version of the stored form. An additional field is not a new Format, because readers keep
// unknown fields. An entity of a later Format returns an [rmw.ErrUndecodable]: upgrade all readers before a
// writer uses a new Format.
const Format = 1

// Remembered is the number of operations that an entity remembers.
const Remembered = 32

// versionName is the stored name of Header.Version.
const versionName = "version"

// Header holds the fields that every entity has. Embed it in an entity.
type Header struct {
	// Format is the version of the stored form; 0 is the form before versions existed.
	Format int `json:"format,omitempty"`
	// Version counts the changes, so that a value that changes and changes back (A-B-A) is not taken for
	// unchanged. It restarts if the entity was removed or has expired.
	Version uint64 `json:"version,omitempty"`
	// Applied holds the last operations that changed the entity, the latest last.
	Applied []Applied `json:"applied,omitempty"`
}

// Applied is an operation that changed the entity.
type Applied struct {
	ID string `json:"id"`
	// Op is the operation's name. If it is empty, because another service left it out, only the id counts.
	Op string `json:"op,omitempty"`
	// Number is the result of an operation that returns a number.
	Number uint64 `json:"number,omitempty"`
}

// Head returns h. It makes a type that embeds a Header an [Entity].
func (h *Header) Head() *Header { return h }

// Has reports whether an operation with that id has happened, and its number. It ignores the name;
// [Header.Find] compares it.
func (h *Header) Has(id string) (number uint64, ok bool) {
	number, ok, _ = h.Find(Op{ID: id})
	return number, ok
}

// Find reports whether op has happened, and its number. It returns an [rmw.ErrInvalid] if an operation of
// another name had the same id. An operation without a name, stored or given, matches any name.
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

// record counts a change, and remembers the operation if it has an id.
func (h *Header) record(op Op, number uint64) {
	h.Format = Format
	h.Version++
	if op.ID == "" {
		return
	}
	keep := h.Applied[max(0, len(h.Applied)-(Remembered-1)):]
	// A copy: h may share its array with an earlier state.
	h.Applied = append(slices.Clone(keep), Applied{ID: op.ID, Op: op.Name, Number: number})
}

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
