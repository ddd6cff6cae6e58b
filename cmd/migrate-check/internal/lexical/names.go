package lexical

import "slices"

// named is a client that only a name tells of.
func (s *scanner) named(name string) value {
	v := value{role: client, lib: s.library(), name: name}
	if pipeName.MatchString(name) {
		v.role = pipe
	}
	return v
}

// library is the one that a client of the file is taken to be of.
func (s *scanner) library() *library {
	if len(s.libs) > 0 {
		return s.libs[0]
	}
	for i := range libraries {
		if slices.Contains(libraries[i].langs, s.lang.id) {
			return &libraries[i]
		}
	}
	return nil
}

// maxValues limits how many values of a name are evaluated.
const maxValues = 9

// returned is the result of a function.
func (s *scanner) returned(b block) value {
	for _, at := range b.returns[:min(len(b.returns), maxValues+1)] {
		if v := s.value(at); v.redis() {
			v.name = b.name
			return v
		}
	}
	return value{}
}

// field evaluates this.name by the bindings of the class, or of the file.
func (s *scanner) field(name string, at int) value {
	name = bare(name)
	class := s.classAround(s.in[at])
	var v value
	for _, b := range s.names[name] {
		if !b.field && !b.fn && b.param == 0 || b.param > 0 && (class == 0 || !s.blocks[b.param-1].class) {
			continue
		}
		w := s.bound(b, name)
		if w.konst { // a default, which the class replaces
			continue
		}
		if w.redis() && b.region == class {
			return w
		}
		if w.role != unknown && (!v.redis() || w.redis()) {
			v = w
		}
	}
	if (v.role == unknown || v.role == other && v.called) && saysRedis(name) { // the name outweighs the result of a call
		return s.named(name)
	}
	return v
}

// lookup evaluates a name where it stands.
func (s *scanner) lookup(name string, at int) value {
	plain := bare(name)
	all := s.names[plain]
	for r := s.in[min(at, len(s.in)-1)]; r >= 0; r = s.blocks[r].parent {
		s.steps++
		var v value
		hit := false
		for _, b := range all {
			if b.region != r {
				continue
			}
			if s.steps++; b.at > at && (v.role != unknown || v.konst) && hit {
				break
			}
			w := s.bound(b, plain)
			if !b.busy && (w.role != unknown || w.konst || b.param > 0) {
				if b.at > at && hit && !w.redis() || !w.redis() && v.redis() && w.role != other {
					continue
				}
				if w.role == unknown && v.role != unknown {
					continue
				}
				v = w
			}
			hit = hit || !b.fn || w.role != unknown
		}
		if hit {
			if v.role == unknown && !v.konst || v.role == other && v.called {
				if saysRedis(plain) {
					return s.named(plain)
				}
				if s.fixture(all, r) {
					continue
				}
			}
			return v
		}
		if (plain == "it" || plain == "this") && s.lang.id == Kotlin {
			if y, ok := s.yields[s.blocks[r].from]; ok {
				return y
			}
		}
	}
	if v := s.className(plain); v.role != unknown {
		return v
	}
	if saysRedis(plain) {
		return s.named(plain)
	}
	return value{}
}

// fixture reports whether a parameter has the name of a function, as a fixture of pytest.
func (s *scanner) fixture(all []*binding, region int) bool {
	if s.lang.id != Python || region == 0 {
		return false
	}
	for _, b := range all {
		if b.fn && b.region != region {
			return true
		}
	}
	return false
}

// bound evaluates a binding, once.
func (s *scanner) bound(b *binding, name string) value {
	if b.known != nil {
		return *b.known
	}
	if b.busy || s.depth >= maxDepth {
		return value{}
	}
	b.busy = true
	s.depth++
	v := s.binds(b, name)
	s.depth--
	b.busy = false
	b.known = &v
	return v
}

func (s *scanner) binds(b *binding, name string) value {
	if b.fixed != nil {
		return *b.fixed
	}
	var v value
	typed := b.typed[1] > b.typed[0]
	if typed {
		v = s.instance(s.typeValue(b.typed[0], b.typed[1]))
	}
	if v.redis() && v.sure {
		if len(b.values) > 0 && (v.role == tx || v.role == pipe) {
			if w := s.value(b.values[0]); w.redis() {
				return w
			}
		}
		return v
	}
	for _, at := range b.values[:min(len(b.values), maxValues)] {
		w := s.value(at)
		if names := s.taken[at]; len(names) > 0 && w.redis() { // { a, b } = x
			source := s.sources[name]
			if w.class {
				w = s.property(w, source, at)
			}
		}
		if w.redis() || w.konst && w.text != "" && w.role != unknown {
			return w
		}
		if (w.role != unknown || w.konst) && v.role == unknown {
			v = w
		}
	}
	if b.param > 0 && v.role == unknown {
		if y, ok := s.yielded(b); ok {
			return y
		}
	}
	return v
}

// yielded is the value that a call passes to a callback, or to its block.
func (s *scanner) yielded(b *binding) (value, bool) {
	fn := s.blocks[b.param-1]
	for _, at := range []int{fn.from, s.up[fn.from]} {
		if at < 0 || fn.class || at != fn.from && !s.is(at, "(") {
			continue
		}
		if h := s.headOf(at); h >= 0 {
			s.chain(h)
		}
		if y, ok := s.yields[at]; ok {
			return y, true
		}
	}
	return value{}, false
}

// headOf is the first token of the call that a bracket, or a block, belongs to.
func (s *scanner) headOf(at int) int {
	for j, n := at-1, 0; j >= 0 && n < maxLook; n++ {
		switch tok := s.at(j); {
		case tok.kind == clos && tok.match >= 0:
			j = tok.match - 1
		case tok.kind == word && s.member(j-1):
			j -= 2
		case tok.kind == word:
			return j
		default:
			return -1
		}
	}
	return -1
}
