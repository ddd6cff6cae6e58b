package lexical

import (
	"slices"
	"strings"
)

// byName judges a command that an argument names.
func byName(c *call) {
	if (c.name == "SEND" || c.name == "DO") && c.lang.id != Go || c.name == "COMMAND" && c.lang.id != PHP {
		return
	}
	last := min(1, len(c.args))
	if c.lang.id == Go { // behind a context
		last = min(2, len(c.args))
	}
	for _, a := range c.args[:last] {
		if name, ok := c.nameOf(a); ok {
			c.byText(name)
			return
		}
	}
	name := c.at(c.pos - 2).text // in Ruby, many things have a method call
	client := c.lang.id != Ruby || saysRedis(name) || connectionName.MatchString(name)
	if last > 0 && client && c.recv.is == redis && c.dynamic(c.args[last-1]) {
		c.tell(c.pos, "MC902", "a command whose name is not visible, through "+c.through())
	}
}

func (c *call) byText(name string) {
	fields := strings.Fields(strings.ToUpper(name))
	if len(fields) == 0 || c.recv.is == unknown && fields[0] != name && !sendsByName[c.name] {
		return
	}
	switch command := fields[0]; command {
	case "XREAD", "XREADGROUP":
		c.streams(command, true)
	default:
		sent := c.sent(true, command)
		if m, ok := severalKeys[command]; ok && !sent && c.recv.counts() && len(c.args) > 1 {
			c.apart(m, c.args[1:])
		}
		if command == "PSUBSCRIBE" || command == "SUBSCRIBE" || command == "CONFIG" {
			c.notifications()
		}
	}
}

// nameOf is the command that an argument names: a text, a constant, the first of a list, or the
// member of an enumeration.
func (c *call) nameOf(a [2]int) (string, bool) {
	i := a[0]
	for n := 0; n < 3 && (c.is(i, "[") || c.is(i, "array") || c.is(i, "(") || c.is(i, "&") || c.is(i, "CommandType")); n++ {
		i++
	}
	switch tok := c.at(i); {
	case i >= a[1]:
	case tok.kind == text:
		return tok.text, !tok.holed
	case tok.kind == word && (c.is(i+1, ".") || c.is(i+1, "::")):
		last := i
		for (c.is(last+1, ".") || c.is(last+1, "::")) && c.at(last+2).kind == word && last+2 < a[1] {
			last += 2
		}
		name := c.at(last).text
		return name, strings.ToUpper(name) == name && len(name) > 2 && last+1 == a[1]
	case tok.kind == word && c.constants[tok.text] != "":
		return c.constants[tok.text], true
	}
	return "", false
}

// dynamic reports whether an argument may be the name of any command.
func (c *call) dynamic(a [2]int) bool {
	for i := a[0]; i < a[1] && i < a[0]+4; i++ {
		tok := c.at(i)
		if itself[tok.text] { // f.call(this)
			return false
		}
		if tok.kind == word && tok.text != "array" && tok.text != "new" {
			last := i+1 == a[1] || c.is(i+1, "]") || c.is(i+1, ",") || c.is(i+1, ")")
			return last && strings.ToUpper(tok.text) != tok.text && tok.text != "ctx"
		}
		if tok.kind == text {
			return tok.holed
		}
		if tok.text == "new" {
			return false
		}
	}
	return false
}

// text looks into a string: a script for the server, or the name of a command in a list that
// is sent later.
func (s *scanner) text(i int) {
	tok := s.all[i]
	if strings.Contains(tok.text, "redis.call") || strings.Contains(tok.text, "redis.pcall") {
		s.script(i)
		return
	}
	command := strings.ToUpper(tok.text)
	if !slices.Contains(transactions, command) && command != "PSUBSCRIBE" || tok.holed {
		return
	}
	up := s.up[i]
	if up < 0 || up != i-1 || !(s.is(i+1, ",") || s.is(i+1, "]") || s.is(i+1, ")")) || s.at(up-1).kind == word && !s.is(up-1, "array") {
		return
	}
	if s.is(up-1, "array") {
		up--
	}
	before := s.at(up - 1)
	if before.text == "[" || before.text == "," && s.up[up] >= 0 && s.is(s.up[up], "[") ||
		before.text == "(" && queues[fold(s.at(up-2).text)] {
		s.sent(i, true, []string{command}, "a list of commands")
	}
}

// queues are methods that put something into a list.
var queues = words("PUSH APPEND ADD UNSHIFT")
