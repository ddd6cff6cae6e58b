package observe

import (
	"fmt"
	"maps"
	"sync"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// Recorder records calls and locks with one exporter. Each path and each lock service has one budget of
// operations, however often it is asked for. It is safe for concurrent use.
type Recorder struct {
	open    Open
	options Options

	mu       sync.Mutex
	paths    map[string]*budget[*callSeries]
	services map[string]*lockService
	stores   map[string]Store // by path
}

// NewRecorder returns a Recorder that opens its series with open.
func NewRecorder(open Open, o Options) *Recorder {
	return &Recorder{open: open, options: o,
		paths: map[string]*budget[*callSeries]{}, services: map[string]*lockService{}, stores: map[string]Store{}}
}

// once returns the value of a name, built at its first use.
func once[V any](r *Recorder, values map[string]V, name string, build func() V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := values[name]
	if !ok {
		v = build()
		values[name] = v
	}
	return v
}

// Store is a Store with Stats, as *lockupdate.Store is.
type Store interface{ Stats() lockupdate.Stats }

// Register adds a Store to [Recorder.Stats]. The error is an [rmw.ErrInvalid] if store is nil or the path
// has a Store already.
func (r *Recorder) Register(path string, store Store) error {
	path = Valid(path)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch _, taken := r.stores[path]; {
	case redisx.IsNil(store):
		return fmt.Errorf("%w: Stats needs a Store, not nil", rmw.ErrInvalid)
	case taken:
		return fmt.Errorf("%w: Stats has a Store for path %q already; use another path, or Unregister the Store first",
			rmw.ErrInvalid, path)
	}
	r.stores[path] = store
	return nil
}

// Unregister removes the Store of a path, if there is one.
func (r *Recorder) Unregister(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.stores, Valid(path))
}

// Stats calls tell for each series of the kinds [Total] and [State], with the values of its Attributes.
func (r *Recorder) Stats(tell func(m *Metric, n uint64, values ...string)) {
	r.mu.Lock()
	stores := maps.Clone(r.stores)
	r.mu.Unlock()
	for path, store := range stores {
		s := store.Stats()
		tell(LockRenewals, s.Renewed, path, "renewed")
		tell(LockRenewals, s.RenewFailures, path, "failed")
		tell(LockPolls, s.Polled, path)
		tell(CommitConflicts, s.Conflicted, path)
		tell(UpdatesCombined, s.Combined, path)
		open := uint64(0)
		if s.CircuitOpen {
			open = 1
		}
		tell(CircuitOpen, open, path)
	}
}
