package lexical

// begin reports the beginning of a transaction. In PHP it may be a plain pipeline.
func begin(c *call) value {
	if c.lang.id == PHP && len(c.args) > 0 && (c.mentions("PIPELINE", "Redis::PIPELINE") || c.number(0) == "2") {
		return c.of(pipe)
	}
	if c.recv.begun {
		return c.recv
	}
	v := c.of(tx)
	v.begun = c.sent(false, "MULTI", "EXEC")
	c.begun = true
	if c.lang.id == Go {
		v.role = pipe
	}
	return v
}

// finish is EXEC or DISCARD on a client. Whether they belong to a transaction of the file is known at the end.
func finish(c *call) value {
	if c.recv.sure {
		c.ends = append(c.ends, c)
	}
	return value{role: other}
}

// finish reports EXEC and DISCARD in a file that begins no transaction.
func (s *scanner) finish() {
	if s.begun {
		return
	}
	for _, c := range s.ends {
		c.sent(false, c.name)
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
	v.begun = c.sent(false, "MULTI", "EXEC")
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
