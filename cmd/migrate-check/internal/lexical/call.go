package lexical

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// call is a call of a method, or a method as a value.
type call struct {
	*scanner
	recv value
	name string   // folded
	pos  int      // the token of its name
	args [][2]int // where each argument is
}

// called reports the commands of a call.
func (s *scanner) called(i int) {
	tok := s.at(i)
	if keyword[tok.text] && !s.member(i-1) || defines[s.at(i-1).text] || s.is(i-1, ".") && s.is(i-3, "fun") {
		return
	}
	c := &call{scanner: s, name: fold(bare(tok.text)), pos: i}
	reference := s.is(i-1, "::") && (s.lang.id == Java || s.lang.id == Kotlin)
	calls := s.is(i+1, "(") && !s.at(i+1).nl || s.is(i+1, "{") && s.lang.id == Kotlin || reference || s.lang.id == Ruby || s.asValue(i)
	if s.is(i+1, "<") && s.lang.id != Python && s.lang.id != Ruby { // receive<Type>(…)
		calls = s.endOf(i) > i
	}
	if calls {
		s.made(i)
	}
	bare := s.lang.id == Kotlin && (c.name == "MULTI" || c.name == "PIPELINED") && !s.is(i-1, ".") || sendsByName[c.name]
	if !calls || !s.member(i-1) && !bare {
		return
	}
	if s.member(i - 1) {
		if c.recv = s.ending(i - 2); c.recv.is == never || c.recv.is == stranger {
			return
		}
	}
	c.arguments()
	s.steps += len(c.args)
	c.judge()
}

// asValue reports whether a method is handed on: brpop.apply(…), promisify(client.keys).
func (s *scanner) asValue(i int) bool {
	next := s.at(i + 2).text
	return s.member(i+1) && s.lang.id == JS && (next == "apply" || next == "call" || next == "bind") ||
		s.up[i] > 0 && strings.HasPrefix(s.at(s.up[i]-1).text, "promisify")
}

// judge reports the commands that a call sends, if its receiver may be a client.
func (c *call) judge() {
	if c.severalKeys() {
		return
	}
	effect, special := effects[c.recv.role][c.name]
	if !special && c.recv.role != client {
		effect, special = effects[client][c.name]
	}
	if special {
		if c.recv.is >= effect.needs || effect.needs == named && only[c.name] {
			if effect.sends != "" {
				c.sent(false, strings.Fields(effect.sends)...)
				c.notifications()
			}
			if effect.do != nil {
				effect.do(c)
			}
		}
		return
	}
	if c.recv.role != client && c.recv.role != plain && c.recv.role != pipe && c.recv.role != unset {
		return
	}
	command, ok := commandOf(c.name, c.recv.is == redis)
	switch {
	case !ok, command == "FLUSHALL" && poolName.MatchString(c.at(c.pos-2).text): // that closes its connections
	case only[strings.TrimSuffix(c.name, "ASYNC")] && (c.recv.counts() || !c.own[c.name] || c.delegates()):
		c.sent(false, command)
	case c.recv.is == redis, c.recv.is == named && !strict[command] && (len(c.args) > 0 || !withArguments[command]):
		c.sent(false, command)
	default:
		return
	}
	c.notifications()
}

// delegates reports whether a method calls the method of the same name of another object.
func (c *call) delegates() bool {
	n := len(c.heads)
	return n > 0 && !c.heads[n-1].class && fold(c.heads[n-1].name) == c.name && !itself[c.at(c.pos-2).text]
}

// arguments finds where each argument is. Those of Ruby may have no brackets.
func (c *call) arguments() {
	from, to := c.pos+2, 0
	last := c.endOf(c.pos)
	switch {
	case c.is(c.pos+1, "("):
		to = min(c.at(c.pos+1).match, len(c.all))
	case c.is(c.pos+1, "<") && c.at(last).kind == clos:
		from, to = c.at(last).match+1, last
	case c.lang.id == Ruby && c.at(c.pos+1).space && !c.at(c.pos+1).nl:
		tok := c.at(c.pos + 1)
		if tok.kind != text && tok.kind != num && (tok.kind != word || keyword[tok.text]) && tok.text != "[" && tok.text != ":" &&
			!(tok.kind == sign && (tok.text == "*" || tok.text == "&") && !c.at(c.pos+2).space) {
			return
		}
		from = c.pos + 1
		for to = from; to < from+maxLook && !c.at(to).nl && c.at(to).kind != clos && !c.is(to, "do") && !c.is(to, "if"); to++ {
			if c.at(to).kind == open && c.at(to).match < len(c.all) {
				to = c.at(to).match
			}
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

// constant is the text of a token, or that of the constant that it names.
func (c *call) constant(i int) string {
	if text, known := c.constants[c.at(i).text]; known {
		return text
	}
	return c.at(i).text
}

// number is the number that an argument is.
func (c *call) number(n int) string {
	if n < len(c.args) && c.args[n][1] == c.args[n][0]+1 && c.at(c.args[n][0]).kind == num {
		return c.at(c.args[n][0]).text
	}
	return ""
}

// through names the receiver and the method.
func (c *call) through() string {
	method := bare(c.at(c.pos).text)
	tok := c.at(c.pos - 2)
	if c.member(c.pos-1) && tok.kind == clos && tok.match > 0 && c.at(tok.match-1).kind == word {
		return c.at(tok.match-1).text + "()." + method
	}
	if c.member(c.pos-1) && tok.kind == word {
		return tok.text + "." + method
	}
	return method
}

// sent reports commands that the call sends.
func (c *call) sent(byName bool, commands ...string) bool {
	return c.scanner.sent(c.pos, byName, commands, c.through())
}

// tells reports a finding of a rule at the call.
func (c *call) tells(rule, what string) { c.report(c.pos, rule, what+" through "+c.through()) }

var notification = regexp.MustCompile("__key(event|space)@|^notify-keyspace-events$")

// notifications reports a pattern, or a setting, of keyspace notifications.
func (c *call) notifications() {
	for _, a := range c.args {
		for i := a[0]; i < a[1] && i < a[0]+maxLook; i++ {
			if tok := c.at(i); tok.kind == text && notification.MatchString(tok.text) {
				c.report(i, "MC203", "keyspace notifications through "+c.through())
				return
			}
		}
	}
}

// begin reports a transaction. In PHP, and by node-redis' execAsPipeline, it may be a plain pipeline.
func begin(c *call) {
	if c.lang.id == PHP && (c.mentions("PIPELINE") || c.number(0) == "2") || c.sentAsPipeline() {
		return
	}
	c.begun = true
	c.sent(false, "MULTI", "EXEC")
}

// sentAsPipeline reports whether the commands of a multi are sent without MULTI: in the same chain, or by its variable.
func (c *call) sentAsPipeline() bool {
	name := ""
	for j := c.pos; j > c.pos-8 && j > 0 && name == ""; j-- {
		if c.is(j, "=") {
			name = c.at(j - 1).text
		}
	}
	for i := c.pos; i < c.pos+4*maxLook && i < len(c.all); i++ {
		c.steps++
		switch fold(c.at(i).text) {
		case "EXECASPIPELINE", "EXECBATCH", "EXECPIPELINE":
			return c.lang.id == JS && (name == "" || c.is(i-2, name) || c.is(i+2, name))
		}
		if name != "" && i > c.pos && c.is(i, "=") && c.is(i-1, name) || name == "" && (c.at(i).text == ";" || c.is(i, "}")) {
			return false
		}
	}
	return false
}

// pipeline is a transaction by default in Python, and elsewhere if its options say so.
func pipeline(c *call) {
	atomic := c.lang.id == Python
	for n, a := range c.args {
		falsy := slices.Contains([]string{"False", "0", "None"}, c.constant(a[1]-1))
		switch {
		case c.lang.id == PHP && c.has(a, "atomic") && c.has(a, "true"):
			atomic = true
		case c.lang.id == Python && (c.is(a[0], "transaction") || n == 0 && a[1] == a[0]+1) && falsy:
			atomic = false
		case c.lang.id == Python && c.is(a[0], "transaction") && c.recv.is == unknown:
			c.recv.is = named
		}
	}
	if atomic && (c.recv.counts() || len(c.args) == 0) || c.mentions("REDIS_WRITE_ATOMIC", "REDIS_READ_ATOMIC", "IN_MEMORY_ATOMIC") {
		c.begun = true
		c.sent(false, "MULTI", "EXEC")
	}
}

// transaction takes a function, and keys, or options, to watch.
func transaction(c *call) {
	if c.recv.is == named && (c.lang.id != Python || len(c.args) == 0 || c.at(c.args[0][0]).kind != word) || c.lang.id == Go {
		return
	}
	begin(c)
	watches := slices.ContainsFunc(c.args, func(a [2]int) bool { return c.is(a[0], "[") && c.has(a, "watch") })
	if c.lang.id == Python && len(c.args) > 1 && !c.is(c.args[1][0]+1, "=") || c.lang.id == PHP && watches {
		c.sent(false, "WATCH")
	}
}

// end keeps EXEC or DISCARD on a client. Whether they belong to a transaction of the file is known at the end.
func end(c *call) {
	if c.recv.is == redis && c.recv.role != pipe {
		c.funcs[c.pos] = c.function()
		c.ends = append(c.ends, c)
	}
}

// watch needs keys, and a connection.
func watch(c *call) {
	if (c.recv.counts() || c.transacts && len(c.args) > 0 && !c.is(c.args[0][0], "[")) && (len(c.args) > 0 || c.lang.id == Go) {
		c.sent(false, "WATCH")
	}
}

// stream judges XREAD and XREADGROUP: with BLOCK they hold up others. That of go-redis blocks unless it is told not to.
func stream(c *call) {
	name := "XREAD"
	if strings.Contains(c.name, "GROUP") {
		name = "XREADGROUP"
	}
	c.streams(name, false)
}

func (c *call) streams(name string, byName bool) {
	if c.mentions("block", "blockms", "withblock") || c.lang.id == Go && !byName || c.lang.id == PHP && name == "XREAD" && len(c.args) > 3 {
		if _, what := c.ruleFor(name, byName); what != "" {
			c.tell(c.pos, "MC302", name+" with BLOCK through "+c.through()+"; "+what)
		}
		return
	}
	c.sent(byName, name)
}

func selectDB(c *call) {
	for n := range c.args {
		if n > 0 && !c.has(c.args[n], "db") {
			break
		}
		if db := c.number(n); db != "" && db != "0" {
			c.tells("MC603", "a database other than 0")
		}
	}
}

// eval judges a script by the number of its keys.
func eval(c *call) {
	for n := 1; n < min(3, len(c.args)); n++ {
		if number := c.keyCount(c.args[n]); number != "" {
			c.scriptKeys(number)
			return
		}
	}
}

// counted is a number of keys that the code computes.
const counted = "n"

var lengths = words("LEN LENGTH SIZE COUNT")

// keyCount is the number of keys of a script that an argument tells: a number, the length of a list, or a list.
func (c *call) keyCount(a [2]int) string {
	first, last := a[0], a[1]-1
	if c.is(first, "keys") && (c.is(first+1, ":") || c.is(first+1, "=")) { // keys: [a, b]
		first += 2
	} else if c.is(first, "{") && c.is(first+1, "keys") && c.is(first+2, ":") { // { keys: [a, b] }
		first += 3
		last = c.at(first).match
	}
	switch tok := c.at(first); {
	case tok.kind == num && first == last:
		return tok.text
	case tok.text == "[" && tok.match == last:
		return strconv.Itoa(len(c.elements([][2]int{{first, last + 1}})))
	}
	if lengths[fold(c.at(last).text)] && c.member(last-1) ||
		c.is(last, ")") && c.at(last).match > 0 && lengths[fold(c.at(c.at(last).match-1).text)] {
		return counted
	}
	return ""
}

func (c *call) scriptKeys(n string) {
	verdict := c.profile.Rule("EVAL").Verdict
	switch {
	case c.sent(false, "EVAL"), verdict != proxycompat.OneKey && verdict != proxycompat.SameSlot:
	case n == "0" && verdict == proxycompat.OneKey:
		c.tells("MC502", "a script without keys")
	case n == counted:
		c.tells("MC501", "a script with a computed number of keys")
	case n != "0" && n != "1" && n[0] >= '1' && n[0] <= '9':
		c.tells("MC501", "a script with "+n+" keys")
	}
}

func defineCommand(c *call) {
	for _, a := range c.args {
		for i := a[0]; i < a[1] && i < a[0]+maxLook; i++ {
			if c.is(i, "numberOfKeys") && c.is(i+1, ":") && c.at(i+2).kind == num {
				c.scriptKeys(c.at(i + 2).text)
			}
		}
	}
}

// subcommand is a command that has one: other methods of this name have none.
func subcommand(c *call) {
	if len(c.args) > 0 && (c.recv.is == redis || c.at(c.args[0][0]).kind == text) {
		c.sent(false, c.name)
		c.notifications()
	}
}

// noArguments is a command of this name only without arguments; in JavaScript there may be a callback.
func noArguments(c *call) {
	if len(c.args) == 0 || c.lang.id == JS && len(c.args) == 1 && c.recv.is == redis {
		c.sent(false, c.name)
	}
}

// atLeast is a command that is sent if there are more arguments than this.
func atLeast(n int, command string) func(*call) {
	return func(c *call) {
		if len(c.args) > n || len(c.args) == n && c.has(c.args[n-1], "Duration", "TimeUnit") {
			c.sent(false, command)
		}
	}
}

// made reports a client or a queue that is a finding in itself.
func (s *scanner) made(i int) {
	m, ok := makers[fold(bare(s.at(i).text))]
	class := upper(s.at(i).text) || s.member(i-1) && upper(s.at(i-2).text) && s.lang.id == Ruby || s.at(i).text[0] == 'c'
	if !ok || !class {
		return
	}
	v := s.lookup(s.at(i).text, i)
	if s.member(i-1) && v.is != redis {
		v = s.ending(i - 2)
	}
	if v.is == redis && (v.role == queue) == (m.sends != "") {
		if m.sends != "" {
			s.sent(i, false, strings.Fields(m.sends), s.at(i).text)
		} else {
			s.report(i, "MC601", m.what+" through "+s.at(i).text)
		}
	}
}
