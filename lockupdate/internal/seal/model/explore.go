package model

import (
	"hash/maphash"
	"strings"
)

// Result is the result of Explore.
type Result struct {
	States int
	// Violation is a broken invariant, or "". Trace is a shortest way to it, a step a line.
	Violation string
	Trace     string
	// Acknowledged tells, for each process, whether it was acknowledged in some run.
	Acknowledged []bool
}

// origin is how a state was reached: the state before, and the number of the transition out of it.
type origin struct{ from, step uint32 }

// Explore visits every state, nearest first, and ends at the first violation. It keeps 64-bit hashes of states: of ten
// million it misses one with a probability of 3 in a million.
func Explore(c Config) Result {
	r := Result{Acknowledged: make([]bool, len(c.Processes))}
	seed, same := maphash.MakeSeed(), c.permutations()
	seen := map[uint64]struct{}{}
	origins := []origin{{}}
	first := c.start()
	seen[c.print(seed, &first, same)] = struct{}{}
	at := uint32(0)
	for level := []state{first}; len(level) > 0 && r.Violation == ""; {
		var nextLevel []state
		for i := range level {
			step := uint32(0)
			c.successors(&level[i], func(next state, _ func() string, violation string) {
				step++
				if r.Violation != "" {
					return
				}
				for p := range c.Processes {
					r.Acknowledged[p] = r.Acknowledged[p] || next.processes[p].answered == committed
				}
				if violation != "" {
					r.Violation, r.Trace = violation, c.trace(first, append(origins, origin{at, step - 1}))
					return
				}
				print := c.print(seed, &next, same)
				if _, ok := seen[print]; !ok {
					seen[print] = struct{}{}
					nextLevel, origins = append(nextLevel, next), append(origins, origin{at, step - 1})
				}
			})
			if r.Violation != "" {
				break
			}
			at++
		}
		level = nextLevel
	}
	r.States = len(seen)
	return r
}

// trace plays the way to the last state.
func (c *Config) trace(s state, origins []origin) string {
	var steps []uint32
	for at := uint32(len(origins) - 1); at > 0; at = origins[at].from {
		steps = append(steps, origins[at].step)
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		n, chosen := uint32(0), s
		c.successors(&s, func(next state, what func() string, _ string) {
			if n == steps[i] {
				b.WriteString(what() + "\n")
				chosen = next
			}
			n++
		})
		s = chosen
	}
	return b.String()
}

// permutations returns the ways to exchange processes that are the same.
func (c *Config) permutations() (all [][]int) {
	var extend func(done []int)
	extend = func(done []int) {
		i := len(done)
		if i == len(c.Processes) {
			all = append(all, append([]int(nil), done...))
			return
		}
		for j, p := range c.Processes {
			free := true
			for _, d := range done {
				free = free && d != j
			}
			if free && p == c.Processes[i] {
				extend(append(done, j))
			}
		}
	}
	extend(nil)
	return all
}

// print returns the least hash of a state and of those that differ from it only by the names of processes.
func (c *Config) print(seed maphash.Seed, s *state, same [][]int) uint64 {
	least := maphash.Comparable(seed, *s)
	for _, names := range same[1:] {
		renamed := s.rename(names)
		least = min(least, maphash.Comparable(seed, renamed))
	}
	return least
}

// rename exchanges processes: that with the name i becomes names[i].
func (s *state) rename(names []int) state {
	next := *s
	id := func(t txID) txID {
		if t == 0 {
			return 0
		}
		return idOf(names[t.process()], uint8(t-1)%maxAttempts)
	}
	of := func(n nonce) nonce {
		if n == 0 {
			return 0
		}
		return id(n.id()).nonce(uint8(n-1) % maxRounds)
	}
	for k := range next.registers {
		next.registers[k].nonce = of(next.registers[k].nonce)
	}
	for i, to := range names {
		p := s.processes[i]
		p.met = of(p.met)
		for k := range p.nonces {
			p.nonces[k] = of(p.nonces[k])
		}
		next.processes[to] = p
		for a := range uint8(maxAttempts) {
			next.records[idOf(to, a)] = s.records[idOf(i, a)]
			next.replica.records[idOf(to, a)] = s.replica.records[idOf(i, a)]
		}
	}
	next.replica.register.nonce = of(next.replica.register.nonce)
	next.filter(func(m *message) bool {
		if m.process >= 0 {
			m.process = int8(names[m.process])
		}
		if m.verb == exec {
			m.nonce = nonce(names[m.nonce])
		} else {
			m.nonce = of(m.nonce)
		}
		return true
	})
	return next
}
