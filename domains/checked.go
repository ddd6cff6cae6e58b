package domains

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// CodecOf returns the codec of a layout. expiry, if not nil, tells the expiry that
// a write of the entity leaves behind, as in [rmw.Key]; 0 leaves it to the Key.
//
// What it reads is an entity that Check accepts, or an error.
//
// # Documents from before the rules
//
// Each mend that is not nil is called with every entity that is read, before Check is:
// it can repair what was stored before there were rules, or by somebody who does not know
// them. It changes the fields that are wrong and leaves the others alone, those in
// Unknown too; it computes only, and twice is as once.
//
// What it changes is stored with the next change of the entity, whatever that is about,
// and shows in what is read until then. What still breaks a rule is an
// [rmw.ErrUndecodable], and so is what mend does not get to see: what is of another form,
// or of a later Format. A Header is kept as it is stored, whatever mend does to it.
//
// mend is shown the id of the key where none is stored, and may empty one that is wrong:
// see Config.ID.
//
// Whoever has stored such an entity may not count the version up. So one that mend has
// changed is guarded by all its fields in [HashByVersion], too, until it is stored.
func CodecOf[T any, E Entity[T]](layout Layout, expiry func(E) time.Duration, mend ...func(E)) rmw.Codec[T] {
	mend = slices.DeleteFunc(slices.Clone(mend), func(m func(E)) bool { return m == nil })
	c := checked[T, E]{document[T]{}, expiry, false, mend}
	if layout != JSON {
		c.byVersion = layout == HashByVersion
		c.Codec = newHashOf[T](c.byVersion)
	}
	return c
}

// checked is a codec that knows the entity's rules and its expiry.
type checked[T any, E Entity[T]] struct {
	rmw.Codec[T]
	expiry    func(E) time.Duration
	byVersion bool
	mend      []func(E)
}

func (c checked[T, E]) Decode(v rmw.Value, dst *T) error { return c.decode(v, dst, identity[T]{}) }

// decode is Decode for an entity that should be somebody.
func (c checked[T, E]) decode(v rmw.Value, dst *T, who identity[T]) error {
	if err := c.Codec.Decode(v, dst); err != nil {
		return err
	}
	// A later Format is refused before anybody repairs what he cannot know.
	if err := E(dst).Head().check(); err != nil {
		return err
	}
	who.complete(dst)
	if err := c.repair(v, dst); err != nil {
		return err
	}
	who.complete(dst)
	if err := who.check(dst); err != nil {
		return err
	}
	err := E(dst).Check()
	if errors.Is(err, rmw.ErrInvalid) { // of what is stored, not of an argument
		return &trouble{strings.TrimPrefix(err.Error(), rmw.ErrInvalid.Error()+": ")}
	}
	return err
}

// repair lets mend change what was read from v, but for its Header: that says what is
// stored, and by which operations.
func (c checked[T, E]) repair(v rmw.Value, dst *T) error {
	if len(c.mend) == 0 {
		return nil
	}
	head := *E(dst).Head()
	head.Applied = slices.Clone(head.Applied)
	for _, mend := range c.mend {
		mend(E(dst))
	}
	*E(dst).Head() = head
	if !c.byVersion {
		return nil
	}
	var before T
	if err := c.Codec.Decode(v.Untraced(), &before); err != nil {
		return err
	}
	if !reflect.DeepEqual(&before, dst) {
		v.Len() // for the Trace: mend may have gone by any field
	}
	return nil
}

func (c checked[T, E]) Encode(src *T, cur rmw.Value) (rmw.Value, error) {
	if err := checkEntity[T, E](src); err != nil {
		return rmw.Value{}, fmt.Errorf("%w: the change breaks a rule of the entity: %w", rmw.ErrInvalid, err)
	}
	next, err := c.Codec.Encode(src, cur)
	if err != nil || c.expiry == nil {
		return next, err
	}
	return next.WithTTL(c.expiry(E(src))), nil
}

func checkEntity[T any, E Entity[T]](t *T) error {
	e := E(t)
	if err := e.Head().check(); err != nil {
		return err
	}
	return e.Check()
}
