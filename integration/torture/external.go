package torture

import (
	"strings"
	"sync"
)

// external is a store beside Redis, as a SQL table, that remembers with each list the greatest
// fencing token it has seen, and refuses smaller ones. Reading raises it, too: a write depends
// on what was read.
type external struct {
	unfenced bool // it takes whatever comes: the mistake of a control

	mu    sync.Mutex
	token map[string]uint64
	lists map[string][]string
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

// into adds the lists to what is stored.
func (e *external) into(all *stored) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, list := range e.lists {
		all.text[key] = strings.Join(list, ",") + ","
	}
}
