package lexical

import (
	"slices"
	"strings"
)

// call is a call of a method.
type call struct {
	*scanner
	recv  value
	name  string // folded
	pos   int    // the token of its name
	open  int    // the bracket of its arguments, -1 if there is none
	block int    // the block that is handed to it, 0 if there is none
	args  [][2]int
}

// arguments finds where each argument is. Those of Ruby may have no brackets.
func (c *call) arguments() {
	from, to := c.open+1, 0
	switch {
	case c.open >= 0:
		to = min(c.at(c.open).match, len(c.all))
	case c.lang.id == Ruby && c.block == 0 && c.at(c.pos+1).space && !c.at(c.pos+1).nl:
		tok := c.at(c.pos + 1)
		if tok.kind != text && tok.kind != num && (tok.kind != word || notNames[tok.text]) && tok.text != "[" && tok.text != ":" &&
			!(tok.kind == sign && (tok.text == "*" || tok.text == "&") && !c.at(c.pos+2).space) {
			return
		}
		from = c.pos + 1
		for to = from; to < len(c.all) && to < from+maxLook && !c.at(to).nl && c.at(to).kind != clos; to++ {
			if c.is(to, "do") || c.is(to, "if") || c.is(to, "unless") {
				break
			}
			if c.at(to).kind == open && c.at(to).match < len(c.all) {
				if c.is(to, "{") {
					c.block = to
				}
				to = c.at(to).match
			}
		}
		if c.is(to, "do") {
			c.block = to
		}
	default:
		return
	}
	start := from
	for i := from; i < to && len(c.args) < 8; i++ {
		tok := c.at(i)
		if tok.kind == open {
			i = tok.match
		}
		if tok.text == "," && tok.kind == sign {
			c.args = append(c.args, [2]int{start, i})
			start = i + 1
		}
	}
	if start < to {
		c.args = append(c.args, [2]int{start, to})
	}
}

// judge reports the commands of a call, and returns its result.
func (c *call) judge() value {
	v := c.recv
	method := bare(c.at(c.pos).text)
	if v.self {
		for _, b := range c.names[method] { // a method of the class itself
			if b.fn {
				if w := c.bound(b, method); w.redis() || w.role == other {
					return w
				}
				return c.returnsByName(method)
			}
		}
		if w := c.field(method, c.pos); w.redis() {
			return w
		}
		if class := c.classAround(c.in[c.pos]); class > 0 {
			v = c.base(&c.blocks[class])
		}
		if !v.redis() {
			return c.returnsByName(method)
		}
	}
	if v.role == other {
		return c.returnsByName(method)
	}
	if !v.redis() {
		if v = c.stranger(); !v.redis() || v.role == tx {
			return c.returnsByName(method)
		}
	}
	c.recv = v
	named := value{role: v.role, lib: v.lib, sure: v.sure, name: method}
	if (v.class || c.name == "SENTINEL" || c.name == "REDISCLUSTER") && c.made(named, c.pos) {
		return c.instance(value{role: v.role, lib: v.lib, sure: v.sure, class: true})
	}
	e, known := c.effectOf(v.role, c.name)
	if known && e.yields != unknown {
		y := value{role: e.yields, lib: v.lib, sure: v.sure}
		if v.role == plain && y.role == client {
			y.role = plain
		}
		c.yield(y)
	}
	switch {
	case known && e.do != nil:
		w := e.do(c)
		if y := c.yields[c.open]; w.begun && (y.role == tx || y.role == pipe) {
			y.begun = true
			c.yield(y)
		}
		return w
	case known:
		if e.sends != "" {
			c.sent(false, strings.Fields(e.sends)...)
		}
		if e.to == unknown {
			return value{role: other}
		}
		if e.to == client && v.role == plain {
			e.to = plain
		}
		return value{role: e.to, lib: v.lib, sure: v.sure, begun: v.begun}
	case v.role != client && v.role != plain && v.role != pipe && v.role != tx && v.role != pubsub:
		return value{role: other}
	}
	if command, ok := commandOf(method, v.sure && !v.class); ok && c.plausible(command) {
		c.command(command)
	} else if v.class {
		if r, ok := classRole(c.lang.id, method); ok {
			v.role = r
		}
		return c.instance(value{role: v.role, lib: v.lib, sure: v.sure, class: true})
	}
	if v.role == pipe || v.role == tx {
		return v
	}
	if saysRedis(method) || strings.HasPrefix(c.name, "GETCLIENT") {
		return value{role: v.role, lib: v.lib, sure: v.sure}
	}
	return value{role: other}
}

// yield sets the value that a callback of the call receives.
func (c *call) yield(y value) {
	if c.open >= 0 {
		c.yields[c.open] = y
	}
	if c.block > 0 {
		c.yields[c.block] = y
	}
}

// returnsByName is the result of a method whose name says Redis: getRedis.
func (c *call) returnsByName(method string) value {
	if len(c.args) > 0 && c.at(c.args[0][0]).kind == text && finds[c.name] && saysRedis(c.at(c.args[0][0]).text) {
		method = c.at(c.args[0][0]).text
	}
	if saysRedis(method) {
		v := c.named(method)
		c.yield(v)
		return v
	}
	if c.recv.role == other {
		return value{role: other}
	}
	return value{}
}

// made reports a call that makes a client, if that is a finding in itself.
func (s *scanner) made(v value, at int) bool {
	m, ok := makers[fold(v.name)]
	if !ok || (v.role == queue) != (m.sends != "") {
		return false
	}
	s.keep(at)
	if m.sends != "" {
		s.sent(at, false, strings.Fields(m.sends), s.title(v, v.name))
	} else {
		s.report(at, "MC601", m.what+" through "+s.title(v, v.name))
	}
	return true
}

// stranger takes an unknown receiver for a client, if the method is distinctive, or ambiguous and the
// receiver is named like a connection.
func (c *call) stranger() value {
	v := value{role: client, lib: c.library(), name: c.recv.name}
	given := len(c.args) > 0
	method := c.at(c.pos).text
	switch {
	case c.lang.id == Go, c.recv.called && !connectionName.MatchString(v.name) && !pipeName.MatchString(v.name):
	case distinctive[c.name] && c.name != "XREAD":
		if (c.name == "SENTINEL" || c.name == "REDISCLUSTER") && method[0] >= 'a' {
			break
		}
		if c.name == "MULTI" && c.handed() { // its function is handed to a transaction, which is reported
			return c.of(tx)
		}
		if c.name == "MULTI" && pipeName.MatchString(v.name) {
			v.role = pipe
		}
		return v
	case c.name == "CREATETRANSACTION" && c.lang.id == CSharp:
		if databaseName(v.name) {
			return v
		}
	case c.name == "PIPELINE" && (c.mentions("transaction") || c.lang.id == Python && c.transacts()):
		return v
	case c.name == "WATCH" && given && !c.is(c.args[0][0], "[") && (pipeName.MatchString(v.name) || c.transacts()):
		if pipeName.MatchString(v.name) {
			v.role = pipe
		}
		return v
	case c.rivals && c.name != "WATCH" && c.name != "PIPELINE", c.lang.id == CSharp || c.lang.id == Java || c.lang.id == Kotlin:
	case ambiguous[c.name] && connectionName.MatchString(v.name):
		switch c.name {
		case "EVAL":
			if len(c.args) < 2 || c.at(c.args[1][0]).kind != num {
				return value{}
			}
		case "CLIENT":
			return value{}
		case "TRANSACTION":
			if !given || c.lang.id != Python || c.at(c.args[0][0]).kind != word {
				return value{}
			}
		case "KEYS", "SCAN", "PUBLISH", "SUBSCRIBE", "WATCH":
			if !given {
				return value{}
			}
		}
		return v
	}
	return value{}
}

// handed reports whether the function around a call is passed to .transaction(…).
func (c *call) handed() bool {
	c.survey()
	return c.helpers[c.blocks[c.function(c.pos)].name]
}

// databaseName reports whether a name is that of a database of StackExchange.Redis: a unit of
// work makes transactions, too.
func databaseName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "redis") || strings.HasSuffix(name, "db") || strings.HasSuffix(name, "database") ||
		strings.HasSuffix(name, "cache") || strings.HasPrefix(name, "getdatabase")
}

// transacts reports whether the file has a transaction, so that watch is part of one.
func (s *scanner) transacts() bool {
	s.survey()
	return s.multi
}

// survey looks once for a transaction in the file, and for functions that are passed to one.
func (s *scanner) survey() {
	if s.helpers != nil {
		return
	}
	s.helpers = map[string]bool{}
	for i := range s.all {
		if s.all[i].kind != word || !s.member(i-1) {
			continue
		}
		s.multi = s.multi || strings.EqualFold(s.all[i].text, "multi") || s.is(i, "unwatch")
		if s.is(i, "transaction") && s.is(i+1, "(") {
			s.helpers[s.at(i+2).text], s.helpers[s.at(i+4).text] = true, true
		}
	}
	delete(s.helpers, "")
}

// plausible reports whether a method that is also called so elsewhere can be the command here.
func (c *call) plausible(command string) bool {
	if c.recv.class && c.lang.id != PHP && c.lang.id != Go {
		return distinctive[c.name] || c.lang.id == Ruby
	}
	if c.recv.sure {
		return true
	}
	switch command {
	case "KEYS", "SCAN", "RENAME", "MOVE", "OBJECT", "SCRIPT", "RESTORE", "MIGRATE", "MONITOR", "PUBLISH":
		return len(c.args) > 0
	case "SHUTDOWN", "DEBUG", "LATENCY":
		return false
	}
	return true
}

// through names the method, as a message does.
func (c *call) through() string { return c.title(c.recv, c.at(c.pos).text) }

func (s *scanner) title(v value, method string) string {
	title := "Redis"
	if v.lib != nil {
		title = v.lib.title
		if (v.role == pipe || v.role == tx) && v.lib.pipe != "" {
			title = v.lib.pipe
		}
	}
	if strings.HasSuffix(title, method) {
		return title
	}
	return title + "." + method
}

// has reports whether an argument has one of these words, or texts.
func (c *call) has(arg [2]int, names ...string) bool {
	for i := arg[0]; i < arg[1] && i < arg[0]+maxLook; i++ {
		tok := c.at(i)
		is := func(name string) bool { return fold(tok.text) == fold(name) }
		if (tok.kind == word || tok.kind == text) && slices.ContainsFunc(names, is) {
			return true
		}
	}
	return false
}

func (c *call) mentions(names ...string) bool {
	return slices.ContainsFunc(c.args, func(a [2]int) bool { return c.has(a, names...) })
}

// number is the number that an argument is.
func (c *call) number(n int) string {
	if n < len(c.args) && c.args[n][1] == c.args[n][0]+1 && c.at(c.args[n][0]).kind == num {
		return c.at(c.args[n][0]).text
	}
	return ""
}

// sent reports commands that the call sends.
func (c *call) sent(named bool, commands ...string) bool {
	c.keep(c.pos)
	return c.scanner.sent(c.pos, named, commands, c.through())
}

// tells reports a finding of a rule at the call.
func (c *call) tells(rule, what string) {
	c.keep(c.pos)
	c.report(c.pos, rule, what+" through "+c.through())
}

// keep remembers in which function a finding is.
func (s *scanner) keep(at int) { s.funcs[at] = s.funcName(at) }

// command judges a command that the method is named after.
func (c *call) command(name string) {
	switch name {
	case "XREAD", "XREADGROUP":
		stream(c)
	default:
		c.sent(false, name)
	}
}

func (c *call) of(r role) value { return value{role: r, lib: c.recv.lib, sure: c.recv.sure} }
