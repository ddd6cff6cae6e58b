package domains

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// CodecOf returns the codec of a layout. It decodes only entities that Check accepts. If expiry is not nil, a
// write leaves the TTL that expiry returns for the entity, as in [rmw.Key]; 0 uses the Key's TTL.
//
// # Values from before the rules
//
// Decode calls each mend that is not nil with every entity, before Check. A mend can repair a value from before
// there were rules, or from a service that does not know them. It changes the wrong fields and keeps all
// others, also Unknown. It must have no side effects, and must be idempotent.
//
// Every read returns the repaired entity, and its next change stores the repair. An entity that still breaks a
// rule is an [rmw.ErrUndecodable]. So is a malformed value or a later Format, which mend does not see. Changes
// of mend to the Header are discarded.
//
// If no id is stored, mend sees the id of the key. It may empty a wrong id: see Config.ID.
//
// The service that stored such a value may not count versions. So in [HashByVersion], the guard of a repaired
// entity covers all its fields until the repair is stored.
func CodecOf[T any, E Entity[T]](layout Layout, expiry func(E) time.Duration, mend ...func(E)) rmw.Codec[T] {
	mend = slices.DeleteFunc(slices.Clone(mend), func(m func(E)) bool { return m == nil })
	c := checked[T, E]{document[T]{}, expiry, false, mend}
	if layout != JSON {
		c.byVersion = layout == HashByVersion
		c.Codec = newHashOf[T](c.byVersion)
	}
	return c
}

// checked adds the entity's rules, repairs and expiry to a codec.
type checked[T any, E Entity[T]] struct {
	rmw.Codec[T]
	expiry    func(E) time.Duration
	byVersion bool
	mend      []func(E)
}

func (c checked[T, E]) Decode(v rmw.Value, dst *T) error { return c.decode(v, dst, identity[T]{}) }

// decode is Decode for the entity of a key.
func (c checked[T, E]) decode(v rmw.Value, dst *T, who identity[T]) error {
	if err := c.Codec.Decode(v, dst); err != nil {
		return err
	}
	// Before mend, which does not know a later Format.
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
	if errors.Is(err, rmw.ErrInvalid) { // the stored value is invalid, not an argument
		return &trouble{strings.TrimPrefix(err.Error(), rmw.ErrInvalid.Error()+": ")}
	}
	return err
}

// repair lets mend change the entity that was read from v, except its Header.
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
	if err := c.Codec.Decode(driver.Untraced(v), &before); err != nil {
		return err
	}
	if !reflect.DeepEqual(&before, dst) {
		v.Len() // traces all fields: mend may depend on any of them
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
