package rmw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Keep and Remove steer [Typed.Edit] as fs.SkipDir steers fs.WalkDir: an edit
// returns one of them instead of an error.
var (
	// Keep: write nothing, and succeed.
	Keep = errors.New("rmw: keep the value as it is")
	// Remove: delete the key, and succeed.
	Remove = errors.New("rmw: remove the key")
)

// Codec translates between a T and a stored [Value]. It is safe for concurrent
// use.
type Codec[T any] interface {
	// Kind is the Kind of the stored values.
	Kind() Kind
	// Decode fills *dst, which is zero, from a value that exists.
	Decode(v Value, dst *T) error
	// Encode returns what to store for src. cur is what src was decoded from,
	// or the zero Value: a codec that knows only some of its fields takes the
	// others from there.
	Encode(src *T, cur Value) (Value, error)
}

// Typed is a [Store] of values of type T.
type Typed[T any] struct {
	store Store
	codec Codec[T]
}

// NewTyped returns a view of store through codec. Key.Kind is then set by the
// codec.
func NewTyped[T any](store Store, codec Codec[T]) Typed[T] {
	return Typed[T]{store: store, codec: codec}
}

// Get returns the value and whether the key exists. The error is the Store's, or
// the codec's if the stored bytes are not a T.
func (t Typed[T]) Get(ctx context.Context, key Key) (value T, exists bool, err error) {
	key.Kind = t.codec.Kind()
	v, err := t.store.Read(ctx, key)
	if err != nil || !v.Exists() {
		return value, false, err
	}
	if err := t.decode(key, v, &value); err != nil {
		var none T
		return none, true, err
	}
	return value, true, nil
}

// Peek is Get with how long the key has left, both of one moment: [NoTTL] if it has no expiry, 0 if
// it does not exist. The error is [ErrUnsupported] if no Store of the chain is a [Peeker].
func (t Typed[T]) Peek(ctx context.Context, key Key) (value T, left time.Duration, err error) {
	key.Kind = t.codec.Kind()
	peeker, ok := As[Peeker](t.store)
	if !ok {
		cause := fmt.Errorf("%T does not tell how long a key has left: call Get", t.store)
		return value, 0, &Error{Path: "rmw", Op: "peek", Key: key.Name, Reason: ErrUnsupported, Cause: cause}
	}
	v, left, err := peeker.Peek(ctx, key)
	if err != nil || !v.Exists() {
		return value, 0, err
	}
	if err := t.decode(key, v, &value); err != nil {
		var none T
		return none, left, err
	}
	return value, left, nil
}

// Edit calls edit with the present value, the zero T if the key does not exist,
// and stores *value as edit leaves it. It returns the stored value,
// the zero T if the key no longer exists.
//
// edit may return [Keep] or [Remove]; any other error aborts and is returned as
// it is. Like an [UpdateFunc] it may run several times, each time on a freshly
// decoded value. A value that no longer decodes is an error, and is not touched.
func (t Typed[T]) Edit(
	ctx context.Context, key Key, edit func(ctx context.Context, value *T, exists bool) error,
) (T, Result, error) {
	key.Kind = t.codec.Kind()
	var stored T
	res, err := t.store.Update(ctx, key, func(ctx context.Context, cur Value) (Value, error) {
		var value, none T
		if cur.Exists() {
			if err := t.decode(key, cur, &value); err != nil {
				return Value{}, err
			}
		}
		switch err := edit(ctx, &value, cur.Exists()); {
		case errors.Is(err, Keep):
			// What edit did to value is dropped, so decode again for the answer.
			stored = none
			if cur.Exists() {
				if err := t.decode(key, cur, &stored); err != nil {
					return Value{}, err
				}
			}
			return cur, nil
		case errors.Is(err, Remove):
			stored = none
			return Value{}, nil
		case err != nil:
			return Value{}, err
		}
		stored = value
		next, err := t.codec.Encode(&value, cur)
		if err != nil {
			return Value{}, encodeError(key, err)
		}
		return next, nil
	})
	if err != nil {
		var none T
		return none, res, err
	}
	return stored, res, nil
}

func (t Typed[T]) decode(key Key, v Value, dst *T) error { return decode(t.codec, key, v, dst) }

func decode[T any](codec Codec[T], key Key, v Value, dst *T) error {
	if err := codec.Decode(v, dst); err != nil {
		e := &Error{Path: "rmw", Op: "decode", Key: key.Name, Reason: ErrUndecodable, Cause: fmt.Errorf("%v: %w", v, err)}
		if errors.Is(err, ErrInvalid) { // the codec itself, not the value
			e.Reason, e.Cause = err, nil
		}
		return e
	}
	return nil
}

// encodeError withholds the text of an error of a codec, or of a method of T, which
// may quote the value.
func encodeError(key Key, err error) error {
	if errors.Is(err, ErrInvalid) {
		return &Error{Path: "rmw", Op: "encode", Key: key.Name, Reason: err}
	}
	if _, harmless := errors.AsType[*json.UnsupportedTypeError](err); !harmless {
		err = &withheld{"the codec cannot encode the value", err}
	}
	return &Error{Path: "rmw", Op: "encode", Key: key.Name, Reason: ErrInvalid, Cause: err}
}
