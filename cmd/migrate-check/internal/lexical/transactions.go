package lexical

import (
	"slices"
	"strings"
)

// begun is a transaction: the token of its finding, and the name of its receiver.
type begun struct {
	at       int
	receiver string
}

// end is EXEC or DISCARD on a client.
type end struct {
	c    *call
	name string
}

// begin reports the beginning of a transaction. In PHP it may be a plain pipeline.
func begin(c *call) value {
	if c.lang.id == PHP && len(c.args) > 0 && (c.mentions("PIPELINE", "Redis::PIPELINE") || c.number(0) == "2") {
		return c.of(pipe)
	}
	if c.recv.origin > 0 && c.relate(c.recv.origin, c.pos, "MULTI") {
		return c.recv
	}
	v := c.of(tx)
	v.origin = c.sent(false, "MULTI", "EXEC")
	c.begun = append(c.begun, begun{c.pos, c.recv.name})
	if c.lang.id == Go {
		v.role = pipe
	}
	return v
}

func beginAgain(c *call) value {
	if c.recv.origin > 0 {
		c.relate(c.recv.origin, c.pos, "MULTI")
		return c.recv
	}
	return begin(c)
}

// finish is EXEC or DISCARD on a client: which transaction it ends is looked for at the end.
func finish(c *call) value {
	c.ends = append(c.ends, end{c, c.name})
	return value{role: other}
}

// finishTx is the end of a transaction, or of a plain pipeline.
func finishTx(c *call) value {
	name := "EXEC"
	if c.name == "DISCARD" || strings.HasPrefix(c.name, "ROLLBACK") {
		name = "DISCARD"
	}
	switch {
	case c.recv.origin > 0:
		c.relate(c.recv.origin, c.pos, name)
	case c.recv.role == tx:
		c.ends = append(c.ends, end{c, name})
	}
	return value{role: other}
}

// finish relates each EXEC to the transaction before it, or reports it.
func (s *scanner) finish() {
	slices.SortFunc(s.begun, func(a, b begun) int { return a.at - b.at })
	slices.SortFunc(s.ends, func(a, b end) int { return a.c.pos - b.c.pos })
	last, byName, n := 0, map[string]int{}, 0
	for _, e := range s.ends {
		for ; n < len(s.begun) && s.begun[n].at < e.c.pos; n++ {
			last = s.begun[n].at + 1
			byName[s.begun[n].receiver] = last
		}
		origin := byName[e.c.recv.name]
		if origin == 0 {
			origin = last
		}
		switch {
		case origin > 0 && s.relate(origin, e.c.pos, e.name):
		case e.c.recv.role == tx: // it came from elsewhere, where it was begun
		case e.c.recv.sure || len(s.begun) > 0:
			e.c.sent(false, e.name)
		}
	}
}

// pipeline is a transaction by default in Python, and elsewhere if its options say so.
func pipeline(c *call) value {
	atomic := c.lang.id == Python
	for n, a := range c.args {
		from := a[0]
		named := c.is(from, "transaction") && c.is(from+1, "=")
		if named {
			from += 2
		} else if n > 0 || c.lang.id != Python {
			if c.lang.id == PHP && c.has(a, "atomic") && c.has(a, "true") {
				atomic = true
			}
			continue
		}
		if v := c.scanner.value(from); v.konst && (named || v.text == "False" || v.text == "0") {
			atomic = v.text != "False" && v.text != "0" && v.text != "None"
		}
	}
	if !atomic {
		return c.of(pipe)
	}
	v := c.of(tx)
	if c.lang.id == Python {
		v.role = pipe
	}
	v.origin = c.sent(false, "MULTI", "EXEC")
	return v
}

// piped is a pipeline; a batch of Redisson is a transaction if its options say so.
func piped(c *call) value {
	if c.mentions("REDIS_WRITE_ATOMIC", "REDIS_READ_ATOMIC", "IN_MEMORY_ATOMIC") {
		c.sent(false, "MULTI", "EXEC")
	}
	return c.of(pipe)
}

// transaction takes a function that runs within one, and keys, or options, to watch.
func transaction(c *call) value {
	v := begin(c)
	if c.lang.id == Python && len(c.args) > 1 && !c.is(c.args[1][0]+1, "=") || c.lang.id == PHP && c.watches() {
		c.sent(false, "WATCH")
	}
	return v
}

// watches reports whether the options of Predis have keys to watch.
func (c *call) watches() bool {
	for _, a := range c.args {
		for i := a[0]; i < a[1] && i < a[0]+maxLook && !c.is(i, "{"); i++ {
			if c.at(i).kind == text && c.at(i).text == "watch" {
				return true
			}
		}
	}
	return false
}

func transactionSupport(c *call) value {
	if c.mentions("true") {
		c.sent(false, "MULTI", "EXEC")
	}
	return value{role: other}
}
