package torture

import (
	"strings"
	"sync"
)

// external is a store outside Redis, like a SQL table, that keeps the greatest fencing token of each list
// and refuses smaller ones. A read raises it, too, since a write depends on the value read.
type external struct {
	unfenced bool // accept any token: the defect of a control

	mu    sync.Mutex
	token map[string]uint64
	lists map[string][]string
	puts  int
}

// Write is an attempt to write to the store.
type Write struct {
	Order    int // among all attempts
	Accepted bool
}

// put attempts a write that depends on no read.
func (e *external) put(key string, token uint64) Write {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.puts++
	return Write{e.puts, e.passes(key, token)}
}

func newExternal(unfenced bool) *external {
	return &external{unfenced: unfenced, token: map[string]uint64{}, lists: map[string][]string{}}
}

func (e *external) read(key string, token uint64) (list []string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lists[key], e.passes(key, token)
}

func (e *external) write(key string, token uint64, list []string) (ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.passes(key, token) {
		return false
	}
	e.lists[key] = list
	return true
}

func (e *external) passes(key string, token uint64) bool {
	if token < e.token[key] && !e.unfenced {
		return false
	}
	e.token[key] = max(e.token[key], token)
	return true
}

// into adds the lists to the stored state.
func (e *external) into(all *stored) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, list := range e.lists {
		all.text[key] = strings.Join(list, ",") + ","
	}
}
