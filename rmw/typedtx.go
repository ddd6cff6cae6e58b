package rmw

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// TypedTx is a [Tx] of values of type T. It reads and writes as part of the same Transact.
type TypedTx[T any] struct {
	tx    *Tx
	codec Codec[T]
}

// In returns a view of tx through the codec of t. The Store of t does not matter.
func (t Typed[T]) In(tx *Tx) TypedTx[T] { return TypedTx[T]{tx: tx, codec: t.codec} }

// Get returns the value and whether the key exists. A value that no longer decodes ends fn with [ErrUndecodable].
func (t TypedTx[T]) Get(key Key) (value T, exists bool) {
	key.Kind = t.codec.Kind()
	v := t.tx.Get(key)
	if !v.Exists() {
		return value, false
	}
	if err := decode(t.codec, key, v, &value); err != nil {
		var none T
		t.tx.run.fail(err)
		return none, false
	}
	return value, true
}

// Put has the value stored when fn returns nil.
func (t TypedTx[T]) Put(key Key, value T) {
	key.Kind = t.codec.Kind()
	v, err := t.codec.Encode(&value, t.tx.Get(key))
	if err != nil {
		t.tx.run.fail(encodeError(key, err))
		return
	}
	t.tx.Put(key, v)
}

// Remove has the key deleted when fn returns nil.
func (t TypedTx[T]) Remove(key Key) {
	key.Kind = t.codec.Kind()
	t.tx.Put(key, Value{})
}

// Edit calls edit with the value and puts *value as edit leaves it. edit may return [Keep] or [Remove], as with
// [Typed.Edit]. Any other error of edit is returned, and nothing is put.
func (t TypedTx[T]) Edit(key Key, edit func(value *T, exists bool) error) error {
	value, exists := t.Get(key)
	switch err := edit(&value, exists); {
	case errors.Is(err, Keep):
	case errors.Is(err, Remove):
		t.Remove(key)
	case err != nil:
		return err
	default:
		t.Put(key, value)
	}
	return nil
}

// Entity is one key of a [Typed], to be edited together with others.
type Entity[T any] struct {
	typed Typed[T]
	key   Key
}

// At returns the entity under key.
func (t Typed[T]) At(key Key) Entity[T] {
	key.Kind = t.codec.Kind()
	return Entity[T]{t, key}
}

// Item is an entity as [Edit2] and [Edit3] give it to edit, which changes Value, or calls Remove or Keep.
type Item[T any] struct {
	Value  T // the zero T if the key does not exist
	exists bool
	fate   fate
}

// fate says what becomes of an Item.
type fate uint8

const (
	stored fate = iota
	removed
	kept
)

// Exists reports whether the key exists.
func (i *Item[T]) Exists() bool { return i.exists }

// Remove has the key deleted.
func (i *Item[T]) Remove() { i.fate = removed }

// Keep has nothing written to the key, whatever Value holds.
func (i *Item[T]) Keep() { i.fate = kept }

func (e Entity[T]) get(tx *Tx) *Item[T] {
	value, exists := e.typed.In(tx).Get(e.key)
	return &Item[T]{Value: value, exists: exists}
}

func (e Entity[T]) put(tx *Tx, i *Item[T]) {
	switch i.fate {
	case removed:
		e.typed.In(tx).Remove(e.key)
	case stored:
		e.typed.In(tx).Put(e.key, i.Value)
	case kept:
	}
}

// Edit2 edits two entities together: both values are stored as edit leaves them, or neither. An error of edit aborts. As a
// [TxFunc], edit may run several times. Both entities must be of one Store.
func Edit2[A, B any](
	ctx context.Context, a Entity[A], b Entity[B], edit func(ctx context.Context, a *Item[A], b *Item[B]) error,
) (TxResult, error) {
	if err := oneStore(a.key, a.typed.store, b.typed.store); err != nil {
		return TxResult{}, err
	}
	return Transact(ctx, a.typed.store, func(ctx context.Context, tx *Tx) error {
		one, two := a.get(tx), b.get(tx)
		if err := edit(ctx, one, two); err != nil {
			return err
		}
		a.put(tx, one)
		b.put(tx, two)
		return nil
	}, a.key, b.key)
}

// Edit3 is [Edit2] with three entities.
func Edit3[A, B, C any](
	ctx context.Context, a Entity[A], b Entity[B], c Entity[C],
	edit func(ctx context.Context, a *Item[A], b *Item[B], c *Item[C]) error,
) (TxResult, error) {
	if err := oneStore(a.key, a.typed.store, b.typed.store, c.typed.store); err != nil {
		return TxResult{}, err
	}
	return Transact(ctx, a.typed.store, func(ctx context.Context, tx *Tx) error {
		one, two, three := a.get(tx), b.get(tx), c.get(tx)
		if err := edit(ctx, one, two, three); err != nil {
			return err
		}
		a.put(tx, one)
		b.put(tx, two)
		c.put(tx, three)
		return nil
	}, a.key, b.key, c.key)
}

// oneStore returns an error unless all stores are the same.
func oneStore(key Key, first Store, others ...Store) error {
	for _, other := range others {
		if reflect.TypeOf(first) != reflect.TypeOf(other) || !reflect.TypeOf(first).Comparable() || first != other {
			return &Error{
				Path: "rmw", Op: "transact", Key: key.Name, Reason: ErrInvalid,
				Cause: fmt.Errorf("the entities are of two Stores (%T, %T); make each Typed of the same one", first, other),
			}
		}
	}
	return nil
}
