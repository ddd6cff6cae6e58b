package scriptcheck

// variable is a variable of the script, with its value at the current statement.
type variable struct{ value value }

// scope is a block of the script.
type scope struct {
	outer *scope
	names map[string]*variable
}

func (s *scope) inner() *scope { return &scope{outer: s} }

func (s *scope) declare(name string, v value) {
	if s.names == nil {
		s.names = map[string]*variable{}
	}
	s.names[name] = &variable{v}
}

// find returns nil for a global name.
func (s *scope) find(name string) *variable {
	for ; s != nil; s = s.outer {
		if v := s.names[name]; v != nil {
			return v
		}
	}
	return nil
}

// history records the assignments, so that the walker can undo one branch before it follows the other.
type history struct {
	changes []change
	stopped bool // the code that follows is unreachable
}

type change struct {
	variable *variable
	before   value
}

func (h *history) set(v *variable, to value) {
	h.changes = append(h.changes, change{v, v.value})
	v.value = to
}

// since undoes the assignments after mark, and returns the variables in the order of their first
// assignment, with the values that they had.
func (h *history) since(mark int) (order []*variable, now map[*variable]value) {
	now = map[*variable]value{}
	for _, c := range h.changes[mark:] {
		if _, seen := now[c.variable]; !seen {
			order = append(order, c.variable)
		}
		now[c.variable] = c.variable.value
	}
	for i := len(h.changes) - 1; i >= mark; i-- {
		h.changes[i].variable.value = h.changes[i].before
	}
	h.changes = h.changes[:mark]
	return order, now
}

// branches follows each path from the same state. The new state joins the results of all paths that reach
// their end. It reports whether no path does. A path reports whether it leaves the function.
func (h *history) branches(paths ...func() (leaves bool)) (leaves bool) {
	mark := len(h.changes)
	var order []*variable
	var ends []map[*variable]value
	for _, path := range paths {
		left := path()
		changed, now := h.since(mark)
		if left {
			continue
		}
		order = append(order, changed...)
		ends = append(ends, now)
	}
	if h.stopped {
		return false
	}
	done := map[*variable]bool{}
	for _, v := range order {
		if done[v] {
			continue
		}
		done[v] = true
		var result value
		for _, end := range ends {
			if now, changed := end[v]; changed {
				result = join(result, now)
			} else {
				result = join(result, v.value)
			}
		}
		h.set(v, result)
	}
	return len(ends) == 0
}
