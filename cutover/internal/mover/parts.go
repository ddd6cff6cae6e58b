package mover

import (
	"context"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Parts are the parts of a cutover.Store that package operate uses.
type Parts struct {
	Stores  [2]rmw.Store // by the protocol.Side
	Mover   *Mover
	Gate    *redisx.Gate
	Invalid error // of each call, if the Store cannot work
	// Stage returns the present stage.
	Stage func(context.Context) (Stage, error)
	// Sweeps tells the census how far a sweep is; nil: it has ended. The value is encoded later.
	Sweeps func(progress any)
}

// Stage is the part of a cutover.Stage that a pass over many keys uses.
type Stage struct {
	Cutover  string // the name of the cut-over, if its Source has one
	Epoch    uint64
	Complete bool
	Goal     func(rmw.Key) Goal // of a sweep
}
