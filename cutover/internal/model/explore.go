package model

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/unwatch/unwatch/cutover/internal/protocol"
)

// Result is what Explore has found.
type Result struct {
	// States that were visited, and how many of them have nothing in flight.
	States, Quiet int
	// Violation names the invariant that a state breaks, if one does.
	Violation string
	// History is the way to that state, one line an event. There is none shorter.
	History []string
}

// Explore visits all states, nearest first, until one breaks an invariant.
func Explore(c Config) Result {
	seed := maphash.MakeSeed()
	print := func(s *state) uint64 { return maphash.Comparable(seed, *s) }
	start := c.start()
	start.canonical()
	first := print(&start)
	cameFrom := map[uint64]uint64{first: 0}
	result := Result{}
	for level := []state{start}; len(level) > 0; {
		var nextLevel []state
		for _, s := range level {
			result.States++
			from := print(&s)
			violation := ""
			if s.inFlight == 0 {
				result.Quiet++
				violation = c.ended(s)
			}
			var last *event
			c.successors(s, func(next state, e event, broken string) {
				if broken != "" && !c.OnlyHome {
					if violation == "" {
						violation, last = broken, &e
					}
					return
				}
				next.canonical()
				at := print(&next)
				if _, seen := cameFrom[at]; !seen {
					cameFrom[at] = from
					nextLevel = append(nextLevel, next)
				}
			})
			if violation != "" {
				result.Violation = violation
				result.History = c.history(start, from, cameFrom, print)
				if last != nil {
					result.History = append(result.History, last.String()+": "+violation)
				} else {
					result.History = append(result.History, "nothing is in flight: "+violation)
				}
				return result
			}
		}
		level = nextLevel
	}
	return result
}

// history replays the way from the start to the state with the print last.
func (c *Config) history(start state, last uint64, cameFrom map[uint64]uint64, print func(*state) uint64) []string {
	way := []uint64{last}
	for cameFrom[last] != 0 {
		last = cameFrom[last]
		way = append(way, last)
	}
	text := []string{start.String()}
	s := start
	for i := len(way) - 2; i >= 0; i-- {
		found := false
		c.successors(s, func(next state, e event, broken string) {
			next.canonical()
			if found || broken != "" || print(&next) != way[i] {
				return
			}
			found = true
			s = next
			text = append(text, fmt.Sprintf("%-50s %s", e, s))
		})
	}
	return text
}

func (e event) String() string {
	side := e.side.String()
	if e.primary > 0 {
		side = "isolated " + side
	}
	switch {
	case e.what == "executes" && !e.done:
		return fmt.Sprintf("%s: %s changes nothing", side, e.message)
	case e.what == "executes":
		return fmt.Sprintf("%s: %s", side, e.message)
	case e.what == "tick":
		return "a tick of time passes"
	case e.what == "stops waiting":
		return fmt.Sprintf("process %d stops waiting", e.process+1)
	case e.process >= 0:
		return fmt.Sprintf("process %d %s %s", e.process+1, e.what, side)
	default:
		return fmt.Sprintf("%s %s", side, e.what)
	}
}

var verbNames = [...]string{
	"reserve", "seal", "fill", "mark", "unseal", "unreserve", "commit", "confirm", "put", "create", "blind set", "seal a value",
}

func (m message) String() string {
	parts := []string{verbNames[m.verb]}
	if m.nonce != (tag{}) {
		parts = append(parts, m.nonce.String())
	}
	if m.aim != (tag{}) {
		parts = append(parts, "for "+m.aim.String())
	}
	switch m.verb {
	case commit:
		parts = append(parts, fmt.Sprintf("%d -> %s", m.guard, m.entry))
	case fill, confirm, Put, Create, blind:
		parts = append(parts, m.entry.String())
	}
	return strings.Join(parts, " ")
}

func (t tag) String() string { return fmt.Sprintf("%d.%d", t.hop, t.id) }

func (e entry) String() string {
	switch {
	case e.value == 0:
		return "nothing"
	case e.until != 0:
		return fmt.Sprintf("%d until %d", e.value, e.until)
	}
	return fmt.Sprint(e.value)
}

func (r register) String() string {
	switch {
	case r.open():
		return r.entry.String()
	case r.kind == protocol.Sealed:
		return fmt.Sprintf("sealed(%s for %s: %s)", r.nonce, r.aim, r.entry)
	case r.aim == tag{}:
		return fmt.Sprintf("reserved(%s)", r.nonce)
	default:
		return fmt.Sprintf("away(%s for %s)", r.nonce, r.aim)
	}
}

func (s state) String() string {
	text := fmt.Sprintf("old: %s, new: %s, truth: %s", s.stores[protocol.Old], s.stores[protocol.New], s.truth)
	if s.apart {
		text += fmt.Sprintf(", isolated %s: %s", s.split, s.isolated)
	}
	return text
}
