package operate

import (
	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/internal/mover"
)

// operator works on the keys of a Store.
type operator struct {
	*mover.Parts
	mover batches
}

func of(store *cutover.Store) operator {
	parts := store.Parts()
	return operator{parts, batches{parts.Mover}}
}

// batches sends the steps of many keys in one pipeline.
type batches struct{ *mover.Mover }
