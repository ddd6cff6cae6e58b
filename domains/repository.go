package domains

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Entity is what a pointer to an entity's type offers. Embed a [Header] and write
// Check.
type Entity[T any] interface {
	*T
	// Head returns the entity's Header.
	Head() *Header
	// Check reports the first of the entity's rules that does not hold. Its text
	// quotes nothing that may be private.
	Check() error
}

// Config says how a [Repository] stores its entities.
type Config[T any] struct {
	// Name is what one of them is called, in errors and as [rmw.Key] Label.
	Name string
	// Key names the key of an id, and its TTL.
	Key func(id string) rmw.Key
	// ID, if not nil, returns where an entity holds its id. One that holds none gets that of
	// its key. One that holds another, after a Mend has seen it (see [CodecOf]), is an
	// [rmw.ErrUndecodable]: it lies under a key that is not its own. A change that gives it
	// another, or none, is an [rmw.ErrInvalid].
	ID func(*T) *string
	// Codec is the layout.
	Codec rmw.Codec[T]
	// Absent and Present are the refusals of what needs an entity that is not there,
	// and of what creates one that is.
	Absent, Present *Refusal
}

// Repository stores entities of one type. It is safe for concurrent use if its Store
// is, and has nothing to close.
type Repository[T any, E Entity[T]] struct {
	cfg   Config[T]
	store rmw.Store
}

// NewRepository returns a Repository over store.
func NewRepository[T any, E Entity[T]](store rmw.Store, cfg Config[T]) Repository[T, E] {
	return Repository[T, E]{cfg: cfg, store: store}
}

// Get returns the entity with that id.
func (r Repository[T, E]) Get(ctx context.Context, id string) (T, error) {
	key, err := r.key(id)
	if err != nil {
		var none T
		return none, err
	}
	t, exists, err := r.typed(id).Get(rmw.WithOperation(ctx, "Get"), key)
	if err == nil && !exists {
		err = r.refuse(id, r.cfg.Absent)
	}
	return t, err
}

// Edit changes the entity with that id by one operation, and returns it as it is
// stored then. change may run several times and computes only; its error aborts and
// is returned, with the entity's name in front. If it returns [rmw.Keep], or if the
// operation has happened already, nothing is written, and Edit succeeds. If another
// operation with that id has, it fails: see [Header.Find].
func (r Repository[T, E]) Edit(ctx context.Context, id string, op Op, change func(E) error) (T, error) {
	t, _, err := r.Number(ctx, id, op, func(e E) (uint64, error) { return 0, change(e) })
	return t, err
}

// Number is Edit for a change that returns a number. The entity remembers it with
// the operation, so the same operation sent again returns the same number.
func (r Repository[T, E]) Number(
	ctx context.Context, id string, op Op, change func(E) (uint64, error),
) (t T, number uint64, err error) {
	if err := op.Validate(); err != nil {
		return t, 0, err
	}
	op.Name = cmp.Or(op.Name, "Edit")
	t, err = r.apply(rmw.WithOperation(ctx, op.Name), id, func(e E, exists bool) error {
		var done bool
		var err error
		if number, done, err = e.Head().Find(op); done || err != nil {
			return cmp.Or(err, rmw.Keep)
		}
		if !exists {
			return r.cfg.Absent
		}
		if number, err = change(e); err != nil {
			return err
		}
		e.Head().record(op, number)
		return nil
	})
	if err != nil {
		number = 0
	}
	return t, number, err
}

// Create stores a new entity, as change makes it of a zero one. If the operation has
// happened already, it returns the entity as it is; another one with that id, as for Edit.
func (r Repository[T, E]) Create(ctx context.Context, id string, op Op, change func(E) error) (T, error) {
	if err := op.Validate(); err != nil {
		var none T
		return none, err
	}
	op.Name = cmp.Or(op.Name, "Create")
	return r.apply(rmw.WithOperation(ctx, op.Name), id, func(e E, exists bool) error {
		if _, done, err := e.Head().Find(op); done || err != nil {
			return cmp.Or(err, rmw.Keep)
		}
		if exists {
			return r.cfg.Present
		}
		if err := change(e); err != nil {
			return err
		}
		e.Head().record(op, 0)
		return nil
	})
}

// Settle is Edit for a change that needs no operation id: what it does shows in the
// entity, and doing it again changes nothing. exists tells whether the entity does;
// if not, change may make one of the zero entity it is given.
func (r Repository[T, E]) Settle(ctx context.Context, id string, at time.Time, change func(e E, exists bool) error) (T, error) {
	if err := checkMoment(at); err != nil {
		var none T
		return none, err
	}
	return r.apply(rmw.WithOperation(ctx, "Settle"), id, func(e E, exists bool) error {
		if err := change(e, exists); err != nil {
			return err
		}
		e.Head().record(Op{}, 0)
		return nil
	})
}

func (r Repository[T, E]) apply(ctx context.Context, id string, edit func(e E, exists bool) error) (T, error) {
	var none T
	key, err := r.key(id)
	if err != nil {
		return none, err
	}
	var own error // what edit said, to be told from what the store says
	who := r.identity(id)
	t, _, err := r.typed(id).Edit(ctx, key, func(_ context.Context, t *T, exists bool) error {
		if !exists {
			who.complete(t)
		}
		if own = edit(E(t), exists); own == nil && !who.holds(t) {
			own = errOtherID
		}
		return own
	})
	if err != nil {
		if own != nil && errors.Is(err, own) {
			err = r.refuse(id, own)
		}
		return none, err
	}
	return t, nil
}

// typed is a view of the store for one entity.
func (r Repository[T, E]) typed(id string) rmw.Typed[T] {
	return rmw.NewTyped[T](r.store, bound[T, E]{r.cfg.Codec, r.identity(id)})
}

func (r Repository[T, E]) identity(id string) identity[T] {
	return identity[T]{name: r.cfg.Name, id: id, of: r.cfg.ID}
}

func (r Repository[T, E]) refuse(id string, why error) error {
	return fmt.Errorf("%s %q: %w", r.cfg.Name, id, why)
}

func (r Repository[T, E]) key(id string) (rmw.Key, error) {
	if err := CheckID(r.cfg.Name, id); err != nil {
		return rmw.Key{}, err
	}
	key := r.cfg.Key(id)
	if key.Label == "" {
		key.Label = r.cfg.Name
	}
	return key, nil
}
