package live

import "strings"

// counter adds up what a server counts from one look to the next.
type counter struct {
	last  map[string]Stat
	total map[string]Stat // since the beginning, without our own
	own   map[string]Stat // of ourselves, since the last look
	mine  int64           // of ourselves, since the beginning
}

func newCounter() *counter {
	return &counter{total: map[string]Stat{}, own: map[string]Stat{}}
}

// sent notes a command of ours, which the server will have counted at the next look.
func (c *counter) sent(args []string, rejected bool) {
	name := strings.ToUpper(args[0])
	switch name {
	case "CLIENT", "ACL", "CLUSTER":
		name += " " + strings.ToUpper(args[1])
	}
	s := c.own[name]
	if rejected {
		s.Rejected++
	} else {
		s.Calls++
	}
	c.own[name] = s
}

// fell reports whether a total went down, which only CONFIG RESETSTAT does. A single command
// may be sent often enough after it to be as many as before.
func fell(before, now Info) bool {
	for _, field := range []string{"total_commands_processed", "total_connections_received", "total_net_input_bytes"} {
		if now.number(field) < before.number(field) {
			return true
		}
	}
	return false
}

// advance takes the next look, and reports whether the counters began anew since the last
// one: then it has what was counted after that.
func (c *counter) advance(now map[string]Stat, anew bool) (reset bool) {
	// The INFO that brought this look is counted by the next one.
	bearer := Stat{Calls: 1}
	c.own["INFO"] = c.own["INFO"].minus(bearer)
	defer func() {
		c.last = now
		c.own = map[string]Stat{"INFO": bearer}
	}()
	if c.last == nil {
		return false
	}
	for name, was := range c.last {
		is, counted := now[name]
		if !counted && strings.Contains(name, ".") { // of a module that was unloaded
			continue
		}
		if is.Calls < was.Calls || is.Rejected < was.Rejected || is.Failed < was.Failed {
			anew = true
		}
	}
	own := map[string]Stat{}
	for name, s := range c.own {
		c.mine += s.Uses()
		if container, _, is := strings.Cut(name, " "); is {
			if _, apart := now[name]; !apart { // before Redis 7 subcommands are not counted by themselves
				name = container
			}
		}
		own[name] = own[name].plus(s)
	}
	for name, is := range now {
		if !anew {
			is = is.minus(c.last[name])
		}
		if is = is.minus(own[name]); is != (Stat{}) {
			c.total[name] = c.total[name].plus(is)
		}
	}
	return anew
}
