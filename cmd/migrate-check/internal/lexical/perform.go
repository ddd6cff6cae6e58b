package lexical

import "strings"

// perform judges a call of a method, and tells what it returns.
func (w *walker) perform(v value, at int, args []arg) value {
	name := w.at(at).text
	st, ok := v.shape.step(name)
	if !ok && v.shape.module && !v.shape.commands {
		return nothing
	}
	c := &call{walker: w, recv: v, name: name, pos: at, args: args}
	if ok {
		c.to = w.result(v, st, 0)
		if len(st.commands) > 0 || st.rule != "" {
			if origin := w.does(c, st); origin > 0 {
				c.to.origin = origin
			}
		}
		if st.do != nil {
			return st.do(c)
		}
		return c.to
	}
	if v.class && !v.shape.commands || !v.shape.commands {
		if v.shape.keeps {
			return v
		}
		return nothing
	}
	command, ok := commandOf(name)
	if ok {
		c.command(command)
	}
	if v.shape.keeps {
		return v
	}
	return nothing
}

// result is the value that a step says.
func (w *walker) result(v value, st step, origin int) value {
	switch {
	case st.self:
		return v
	case st.to != "":
		return value{shape: w.d.shapes[st.to], class: st.class, known: true, origin: origin}
	}
	return nothing
}

// does reports what a step says that is sent.
func (w *walker) does(c *call, st step) int {
	if st.rule != "" {
		return c.found(st.rule, strings.Join(st.commands, " and "), len(st.commands) > 1)
	}
	return c.sent(false, st.commands...)
}

// through names the method, as a message does.
func (c *call) through() string {
	if c.recv.shape == nil {
		return c.name
	}
	title := c.recv.shape.title
	if strings.HasSuffix(title, c.name) { // it is made, or there is no method
		return title
	}
	return title + "." + strings.TrimLeft(c.name, ":")
}

// sent reports commands that the call sends.
func (c *call) sent(named bool, commands ...string) int {
	c.keep()
	return c.walker.sent(c.pos, named, commands, c.through())
}

// found reports what the call does, by a rule.
func (c *call) found(rule, what string, several bool) int {
	c.keep()
	return c.walker.found(c.pos, rule, what+" through "+c.through(), several)
}

// keep remembers in which function the call is.
func (c *call) keep() { c.funcs[c.pos] = c.function() }

// command judges a command that the method is named after.
func (c *call) command(name string) {
	switch name {
	case "EXEC", "DISCARD":
		c.finish(name)
	case "MULTI":
		c.begin()
	case "XREAD", "XREADGROUP":
		c.stream(name, false)
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE":
		c.sent(false, name)
		c.notifications()
	case "CONFIG":
		c.sent(false, name)
		c.notifications()
	default:
		c.sent(false, name)
	}
}

// begin reports the beginning of a transaction; of one that was found already it is a part.
func (c *call) begin() int {
	if c.recv.origin > 0 && c.relate(c.recv.origin, c.pos, "MULTI") {
		return c.recv.origin
	}
	at := c.sent(false, "MULTI", "EXEC")
	c.last = at
	c.multis[c.receiver()] = at
	return at
}

// finish reports EXEC or DISCARD: as a part of the transaction, if that is to be seen.
func (c *call) finish(name string) {
	for _, origin := range []int{c.recv.origin, c.multis[c.receiver()], c.last} {
		if origin > 0 && c.relate(origin, c.pos, name) {
			return
		}
	}
	c.sent(false, name)
}

// receiver is the text of what the method is called on, as far as it is a name.
func (c *call) receiver() string {
	if c.pos < 2 || c.at(c.pos-2).kind != word {
		return ""
	}
	return c.at(c.pos - 2).text
}

// stream judges XREAD and XREADGROUP: with BLOCK they hold up others.
func (c *call) stream(name string, named bool) {
	if c.mentions("block", "blockms", "withblock") {
		c.keep()
		c.walker.found(c.pos, "MC302", name+" with BLOCK through "+c.through(), false)
		return
	}
	c.sent(named, name)
}

// notifications reports what has to do with the notifications of a server.
func (c *call) notifications() {
	for _, a := range c.args {
		for i := a.from; i < a.to && i < a.from+maxLook; i++ {
			if tok := c.at(i); tok.kind == text && notification(tok.text) {
				c.funcs[i] = c.function()
				c.walker.found(i, "MC203", "keyspace notifications", true)
				return
			}
		}
	}
}

func notification(s string) bool {
	return strings.Contains(s, "__keyevent@") || strings.Contains(s, "__keyspace@") || s == "notify-keyspace-events"
}

// byName judges a command whose name is an argument.
func byName(c *call) value {
	if len(c.args) == 0 {
		return c.to
	}
	c.named(c.args[0])
	return c.to
}

// named judges a command by the argument that names it.
func (c *call) named(a arg) {
	name, ok := c.nameOf(a)
	if !ok {
		if c.dynamic(a) {
			c.keep()
			c.tell(c.pos, "MC902", "a command whose name is not to be seen, through "+c.through())
		}
		return
	}
	words := strings.Fields(strings.ToUpper(name))
	if len(words) == 0 {
		return
	}
	switch words[0] {
	case "XREAD", "XREADGROUP":
		c.stream(words[0], true)
	case "SCRIPT", "CONFIG", "CLIENT", "OBJECT":
		c.sent(true, words[0])
		c.notifications()
	case "SUBSCRIBE", "PSUBSCRIBE":
		c.sent(true, words[0])
		c.notifications()
	default:
		if _, ok := ruled[words[0]]; ok {
			c.sent(true, words[0])
		}
	}
}

// nameOf is the command that an argument names: a text, the first of a list, or the member of
// an enumeration.
func (c *call) nameOf(a arg) (string, bool) {
	if a.value.konst {
		return a.value.text, true
	}
	i := a.from
	if c.d.lang == PHP && c.is(i, "array") && c.is(i+1, "(") {
		i++
	}
	for i < a.to && c.at(i).kind != text && c.at(i).kind != word {
		i++
	}
	switch tok := c.at(i); {
	case i >= a.to:
		return "", false
	case tok.kind == text:
		return tok.text, !tok.holed && (c.is(i+1, ",") || c.is(i+1, "]") || c.is(i+1, ")") || c.is(i+1, ".") || i+1 >= a.to)
	case tok.kind == word && c.is(i+1, ".") || c.is(i+1, "::"):
		last := i
		for (c.is(last+1, ".") || c.is(last+1, "::")) && c.at(last+2).kind == word && last+2 < a.to {
			last += 2
		}
		name := c.at(last).text
		if strings.ToUpper(name) == name && len(name) > 2 {
			return name, true
		}
	case tok.kind == word:
		if v := c.lookup(tok.text); v.konst {
			return v.text, true
		}
	}
	return "", false
}

// dynamic reports whether an argument may be the name of any command, and not a constant that
// stands elsewhere.
func (c *call) dynamic(a arg) bool {
	for i := a.from; i < a.to && i < a.from+4; i++ {
		tok := c.at(i)
		if tok.kind == word && tok.text == "array" && c.d.lang == PHP {
			continue
		}
		if tok.kind == word {
			return strings.ToUpper(tok.text) != tok.text
		}
		if tok.kind == text {
			return tok.holed
		}
	}
	return false
}
