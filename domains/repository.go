package domains

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Entity is the constraint of a pointer to an entity. Embed a [Header] and implement Check.
type Entity[T any] interface {
	*T
	// Head returns the entity's Header.
	Head() *Header
	// Check returns an error for the first rule that the entity breaks. The text quotes no private data.
	Check() error
}

// Config configures a [Repository]. All fields but ID are required.
type Config[T any] struct {
	// Name is the kind of entity, such as "room", in errors and as [rmw.Key] Label.
	Name string
	// Key returns the key of an id, with its TTL.
	Key func(id string) rmw.Key
	// ID, if not nil, returns a pointer to the entity's id. A stored entity without an id gets the id of its
	// key. One with another id, after Mend (see [CodecOf]), is an [rmw.ErrUndecodable]: it is stored under a
	// wrong key. A change of the id returns an [rmw.ErrInvalid].
	ID func(*T) *string
	// Codec is the layout.
	Codec rmw.Codec[T]
	// Absent is the refusal if the entity does not exist, Present if an entity to be created does.
	Absent, Present *Refusal
}

// Repository stores entities of one type. It is safe for concurrent use if its Store is, and needs no Close.
type Repository[T any, E Entity[T]] struct {
	cfg   Config[T]
	store rmw.Store
}

// NewRepository returns a Repository over store.
func NewRepository[T any, E Entity[T]](store rmw.Store, cfg Config[T]) Repository[T, E] {
	return Repository[T, E]{cfg: cfg, store: store}
}

// Get returns the entity with that id, or the refusal Config.Absent.
func (r Repository[T, E]) Get(ctx context.Context, id string) (t T, err error) {
	key, err := r.key(id)
	if err != nil {
		return t, err
	}
	t, exists, err := r.typed(id).Get(rmw.WithOperation(ctx, "Get"), key)
	if err == nil && !exists {
		err = r.refuse(id, r.cfg.Absent)
	}
	return t, err
}

// Edit changes the entity with that id by one operation, and returns the stored entity. change may run several
// times and must have no side effects. An error of change aborts; Edit returns it with the entity's name in
// front. If change returns [rmw.Keep], or if the operation has already happened, nothing is written and Edit
// succeeds. If an operation of another name had the same id, Edit returns an [rmw.ErrInvalid].
func (r Repository[T, E]) Edit(ctx context.Context, id string, op Op, change func(E) error) (T, error) {
	t, _, err := r.Number(ctx, id, op, func(e E) (uint64, error) { return 0, change(e) })
	return t, err
}

// Number is Edit for a change that returns a number. The entity remembers the number with the operation, so the
// same operation sent again returns the same number.
func (r Repository[T, E]) Number(
	ctx context.Context, id string, op Op, change func(E) (uint64, error),
) (t T, number uint64, err error) {
	op.Name = cmp.Or(op.Name, "Edit")
	return r.once(ctx, id, op, true, change)
}

// Create stores a new entity, which change builds from a zero one, and returns the refusal Config.Present if
// the entity exists. If the operation has already happened, Create returns the stored entity. If an operation
// of another name had the same id, it returns an [rmw.ErrInvalid].
func (r Repository[T, E]) Create(ctx context.Context, id string, op Op, change func(E) error) (T, error) {
	op.Name = cmp.Or(op.Name, "Create")
	t, _, err := r.once(ctx, id, op, false, func(e E) (uint64, error) { return 0, change(e) })
	return t, err
}

// once applies change unless op has already happened. The entity must exist, or must not.
func (r Repository[T, E]) once(
	ctx context.Context, id string, op Op, mustExist bool, change func(E) (uint64, error),
) (t T, number uint64, err error) {
	if err := op.Validate(); err != nil {
		return t, 0, err
	}
	t, err = r.apply(rmw.WithOperation(ctx, op.Name), id, func(e E, exists bool) (err error) {
		var done bool
		number, done, err = e.Head().Find(op)
		switch {
		case done || err != nil:
			return cmp.Or(err, rmw.Keep)
		case mustExist && !exists:
			return r.cfg.Absent
		case exists && !mustExist:
			return r.cfg.Present
		}
		if number, err = change(e); err == nil {
			e.Head().record(op, number)
		}
		return err
	})
	if err != nil {
		number = 0
	}
	return t, number, err
}

// Settle is Edit for an idempotent change, which needs no operation id. If the entity does not exist, exists is
// false, and change may build it from the zero entity.
func (r Repository[T, E]) Settle(
	ctx context.Context, id string, at time.Time, change func(e E, exists bool) error,
) (t T, err error) {
	if err := checkMoment(at); err != nil {
		return t, err
	}
	return r.apply(rmw.WithOperation(ctx, "Settle"), id, func(e E, exists bool) error {
		err := change(e, exists)
		if err == nil {
			e.Head().record(Op{}, 0)
		}
		return err
	})
}

func (r Repository[T, E]) apply(ctx context.Context, id string, edit func(e E, exists bool) error) (none T, err error) {
	key, err := r.key(id)
	if err != nil {
		return none, err
	}
	var own error // of edit, as opposed to an error of the store
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
	key.Label = cmp.Or(key.Label, r.cfg.Name)
	return key, nil
}
