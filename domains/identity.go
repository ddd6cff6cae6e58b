package domains

import (
	"fmt"

	"github.com/unwatch/unwatch/rmw"
)

// identity is the id that a key demands of its entity. The zero identity demands nothing.
type identity[T any] struct {
	name, id string
	of       func(*T) *string
}

// complete sets a missing id to the id of the key.
func (i identity[T]) complete(t *T) {
	if i.of == nil {
		return
	}
	if id := i.of(t); *id == "" {
		*id = i.id
	}
}

func (i identity[T]) holds(t *T) bool { return i.of == nil || *i.of(t) == i.id }

func (i identity[T]) check(t *T) error {
	if i.holds(t) {
		return nil
	}
	return &trouble{fmt.Sprintf("the key is that of the %s %q, and the id in the document is another: "+
		"if it was copied, put it under its own key; if the id is wrong, have a Mend empty it", i.name, i.id)}
}

var errOtherID = fmt.Errorf("%w: the change gives it another id, or none", rmw.ErrInvalid)

// bound is the codec of one entity.
type bound[T any, E Entity[T]] struct {
	rmw.Codec[T]
	identity[T]
}

func (b bound[T, E]) Decode(v rmw.Value, dst *T) error {
	if c, ok := b.Codec.(checked[T, E]); ok {
		return c.decode(v, dst, b.identity) // before the rules are looked at
	}
	if err := b.Codec.Decode(v, dst); err != nil {
		return err
	}
	b.complete(dst)
	return b.check(dst)
}
