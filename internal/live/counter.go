package live

import "strings"

// counter adds up the counts of a server from look to look.
type counter struct {
	last  map[string]Stat
	total map[string]Stat // since the beginning, without our own commands
	own   map[string]Stat // our own since the last look
	mine  int64           // our own since the beginning
}

func newCounter() *counter {
	return &counter{total: map[string]Stat{}, own: map[string]Stat{}}
}

// sent records a command of ours. The server has counted it at the next look.
func (c *counter) sent(args []string, rejected bool) {
	name := strings.ToUpper(args[0])
	switch name {
	case "CLIENT", "ACL", "CLUSTER":
		name += " " + strings.ToUpper(args[1])
	}
	one := Stat{Calls: 1}
	if rejected {
		one = Stat{Rejected: 1}
	}
	c.own[name] = c.own[name].plus(one)
}

// fell reports whether a total decreased, which means CONFIG RESETSTAT. The count of a single
// command may have caught up already.
func fell(before, now Info) bool {
	for _, field := range []string{"total_commands_processed", "total_connections_received", "total_net_input_bytes"} {
		if now.number(field) < before.number(field) {
			return true
		}
	}
	return false
}

// advance adds the next look. anew means that the server's counters were reset since the last
// look. advance also detects that itself, and reports it: then it adds the counts after the reset.
func (c *counter) advance(now map[string]Stat, anew bool) (reset bool) {
	// The next look counts the INFO of this one.
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
		unloaded := !counted && strings.Contains(name, ".") // with its module
		anew = anew || !unloaded && (is.Calls < was.Calls || is.Rejected < was.Rejected || is.Failed < was.Failed)
	}
	own := map[string]Stat{}
	for name, s := range c.own {
		c.mine += s.Uses()
		if container, _, is := strings.Cut(name, " "); is {
			if _, apart := now[name]; !apart { // Redis 7 is the first to count subcommands
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
