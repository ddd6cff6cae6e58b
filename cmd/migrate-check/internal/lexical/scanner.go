package lexical

import (
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// scanner looks at one file.
type scanner struct {
	*tokens
	lang    *language
	path    string
	blocks  []block
	up      []int                 // by token: the bracket around it, -1 if there is none
	in      []int                 // by token: the innermost block
	names   map[string][]*binding // the bindings of each name, in order
	taken   map[int][]string      // by a value that is destructured: the names
	sources map[string]string     // by such a name: its member
	globals map[string]bool
	paths   map[string]string // imports by their last word
	libs    []*library        // the imports of client libraries
	found   bool              // something in the file says Redis
	rivals  bool              // the file imports another library that publishes and subscribes
	chains  map[int]evaluated // by the token where an expression begins
	yields  map[int]value     // by the bracket of arguments, or of a block: the value that a callback receives
	reports map[int][]*report
	funcs   map[int]string
	joined  []relation
	begun   []begun         // the transactions, in the order that they were looked at
	ends    []end           // EXEC and DISCARD on a client
	multi   bool            // the file has a transaction
	helpers map[string]bool // functions that are handed to one
	depth   int
	effects map[role]map[string]effect
	steps   int
}

// evaluated is the value of an expression, and the token behind it.
type evaluated struct {
	value value
	next  int
}

// value is the result of evaluating an expression.
type value struct {
	role   role
	lib    *library
	sure   bool   // traced to a library; if false, guessed from a name
	class  bool   // a module or a class
	called bool   // the result of a call
	self   bool   // this, self
	name   string // the last word of the expression
	origin int    // the token of the transaction that it came from, plus one
	konst  bool   // a constant
	text   string // its text
}

// redis reports whether it is something of Redis.
func (v value) redis() bool { return v.role != unknown && v.role != other }

// maxDepth limits the recursion through expressions and names.
const maxDepth = 60

// maxLook limits the tokens that are read ahead.
const maxLook = 80

func newScanner(lang *language, path string, t *tokens) *scanner {
	return &scanner{tokens: t, lang: lang, path: path, names: map[string][]*binding{}, taken: map[int][]string{},
		sources: map[string]string{},
		globals: map[string]bool{}, paths: map[string]string{}, chains: map[int]evaluated{}, yields: map[int]value{},
		reports: map[int][]*report{}, funcs: map[int]string{}, effects: effects}
}

func (s *scanner) run() {
	s.structure()
	s.bindings()
	s.gate()
	if !s.found {
		return
	}
	for i := range s.all {
		if s.begins(i) {
			s.chain(i)
		}
		if s.all[i].kind == text {
			s.text(i)
		}
	}
	s.finish()
}

// gate sets found if the code has a name that says Redis, or methods that only its clients have.
func (s *scanner) gate() {
	watch, multi := false, false
	for i := range s.all {
		if s.found && (s.lang.id != CSharp || len(s.libs) > 0) {
			return
		}
		name := s.all[i].text
		if s.all[i].kind == text && len(name) < maxName && s.is(i-1, "(") && saysRedis(name) { // app('redis')
			s.found = true
		}
		if s.all[i].kind != word {
			continue
		}
		switch {
		case strings.Contains(name, "ConnectionMultiplexer"): // the project imports it for all its files
			s.found = true
			s.libs = append(s.libs, libraryOf(CSharp, "StackExchange.Redis"))
		case redisModule.MatchString(name), redisName.MatchString(name), name == "Sidekiq", name == "Resque":
			s.found = true
		case s.member(i - 1):
			fold := fold(name)
			watch = watch || fold == "WATCH" || dataCommands[fold]
			multi = multi || fold == "MULTI" || fold == "MULTIEXEC" || fold == "GETSUBSCRIBER" || distinctive[fold] && dataCommands[fold]
			s.found = s.found || watch && multi
		}
	}
	if redisModule.MatchString(s.path) {
		s.found = true
	}
}

// maxName limits the length of a string that is the name of a service.
const maxName = 40

// dataCommands are methods for data that only clients of Redis have.
var dataCommands = words("HSET HGET HGETALL HMSET HINCRBY ZADD ZRANGE ZREM ZCARD ZSCORE SADD SREM SMEMBERS SISMEMBER LPUSH RPUSH LRANGE SETEX " +
	"SETNX INCRBY HSETASYNC")

// member reports whether a sign stands here behind which the name of a member comes.
func (s *scanner) member(i int) bool {
	tok := s.at(i)
	if tok.kind != sign {
		return false
	}
	switch tok.text {
	case ".": // in PHP it puts texts together
		return s.lang.id != PHP
	case "?.", "&.", "!.":
		return true
	case "->", "?->":
		return s.lang.id == PHP
	case "::":
		return s.lang.id == PHP || s.lang.id == Ruby
	}
	return false
}

// defines are words before a name that is no expression.
var defines = words("fun def func function class interface struct module")

// leading are keywords that an expression begins with.
var leading = words("new this self super")

// begins reports whether an expression with members begins here.
func (s *scanner) begins(i int) bool {
	tok := s.at(i)
	switch tok.kind {
	case word:
		return !s.member(i-1) && !defines[s.at(i-1).text] && (!notNames[tok.text] || leading[tok.text])
	case open: // (a or b).c
		return tok.text == "(" && tok.match < len(s.all) && s.member(tok.match+1) && !s.callParen(i) && !s.member(i-1)
	}
	return false
}

// choices are operators between alternatives.
var choices = words("|| ?? ?: ? && or and else if")

// value evaluates an expression and its alternatives: a or b, c ? a : b.
func (s *scanner) value(i int) value {
	v, next := s.operand(i)
	for n := 0; n < 6 && !v.redis(); n++ {
		switch tok := s.at(next); {
		case tok.kind != text && !tok.nl && choices[tok.text], tok.kind == sign && (choices[tok.text] || tok.text == ":" && n > 0):
			var w value
			if w, next = s.operand(next + 1); w.redis() {
				return w
			}
		case tok.kind == sign && (tok.text == "==" || tok.text == "===" || tok.text == "!=" || tok.text == "!=="):
			_, next = s.operand(next + 1)
		default:
			return v
		}
	}
	return v
}

// before are words before an expression that do not change its value.
var before = words("await yield from return new not typeof async as ref out val const move try raise throw")

// operand evaluates the expression at a token, and returns where it ends.
func (s *scanner) operand(i int) (value, int) {
	for n := 0; n < 8; n++ {
		tok := s.at(i)
		if tok.kind == word && before[tok.text] && tok.text != "new" && !s.member(i+1) && s.at(i+1).kind != sign ||
			tok.kind == sign && (tok.text == "&" || tok.text == "*" || tok.text == "!" || tok.text == "...") {
			i++
			continue
		}
		break
	}
	return s.chain(i)
}

// chain evaluates a.b(…).c(…), and reports what its calls send.
func (s *scanner) chain(i int) (value, int) {
	if r, ok := s.chains[i]; ok {
		return r.value, r.next
	}
	s.steps++
	if s.depth >= maxDepth || i >= len(s.all) {
		return value{}, i + 1
	}
	s.depth++
	s.chains[i] = evaluated{value{}, i + 1}
	v, next := s.first(i)
	if next > i {
		v, next = s.rest(v, next)
	}
	s.depth--
	s.chains[i] = evaluated{v, max(next, i+1)}
	return v, max(next, i+1)
}

// first evaluates the first operand of an expression.
func (s *scanner) first(i int) (value, int) {
	tok := s.at(i)
	switch tok.kind {
	case text:
		return value{role: other, konst: !tok.holed, text: tok.text}, i + 1
	case num:
		return value{role: other, konst: true, text: tok.text}, i + 1
	case open:
		return s.group(i)
	case word:
	default:
		return value{}, i
	}
	switch tok.text {
	case "new":
		if s.lang.id == Ruby || s.lang.id == Python || s.at(i+1).kind != word {
			return value{}, i + 1
		}
		return s.construct(i + 1)
	case "True", "true", "False", "false", "None", "null", "nil", "undefined", "NULL":
		return value{konst: true, text: tok.text}, i + 1
	case "this", "self", "$this", "cls", "static", "parent":
		if tok.text == "self" || tok.text == "this" || tok.text == "$this" || s.lang.id == PHP || s.lang.id == Python {
			return value{self: true, name: tok.text}, i + 1
		}
	case "super":
		if s.is(i+1, "(") {
			return value{self: true}, s.at(i+1).match + 1
		}
		return value{self: true}, i + 1
	case "require", "import":
		if s.lang.id == JS && s.is(i+1, "(") && s.at(i+2).kind == text {
			s.imported(s.at(i+2).text, "", -1)
			return s.required(s.at(i + 2).text), s.at(i+1).match + 1
		}
	case "lambda", "function", "fn", "func", "fun", "async":
		for b := s.in[min(i+2, len(s.all))]; b > 0 && s.blocks[b].from >= i; b = s.blocks[b].parent {
			if s.blocks[b].fn {
				return s.returned(s.blocks[b]), min(s.blocks[b].to, len(s.all))
			}
		}
	}
	if s.is(i+1, "=>") && s.blocks[s.in[i]].from == i {
		return s.returned(s.blocks[s.in[i]]), s.blocks[s.in[i]].to
	}
	v := s.lookup(tok.text, i)
	v.name = tok.text
	next := i + 1
	if s.lang.id == Ruby && strings.HasPrefix(tok.text, "@") && v.role == unknown && saysRedis(tok.text) {
		v = s.named(tok.text)
	}
	if v.class && (s.is(next, "(") || s.is(next, "{") && s.lang.id == Go) && s.lang.id != Ruby {
		s.made(v, i)
		return s.instance(v), s.called(next)
	}
	if s.is(next, "(") && !s.at(next).nl {
		if c := (&call{scanner: s, recv: s.named(tok.text), name: fold(tok.text), pos: i, open: next}); sendsByName[c.name] {
			c.arguments()
			return byName(c), s.called(next)
		}
		if s.at(next+1).kind == text && finds[fold(tok.text)] && saysRedis(s.at(next+1).text) { // app('redis')
			v = s.named(s.at(next + 1).text)
		}
		next = s.called(next)
	}
	return v, next
}

// sendsByName are functions without a receiver that send the command they are told.
var sendsByName = words("SENDCOMMAND EXECUTECOMMAND EXECUTETYPED EXECUTERAW RAWCOMMAND")

// finds are functions and methods that find a service by its name.
var finds = words("APP MAKE GET GETBEAN RESOLVE SERVICE INJECT")

// called is the token behind the arguments of a call.
func (s *scanner) called(open int) int { return min(s.at(open).match, len(s.all)) + 1 }

// group evaluates an expression in brackets: (a or b), (Type) a, (a) => b.
func (s *scanner) group(i int) (value, int) {
	tok := s.at(i)
	next := min(tok.match, len(s.all)) + 1
	if tok.text != "(" {
		return value{role: other}, next
	}
	if s.is(next, "=>") || s.is(next, ":") && s.lang.id == JS || s.is(next, "->") && s.lang.id != PHP {
		for b := s.in[i]; b > 0; b = s.blocks[b].parent {
			if s.blocks[b].from == i {
				return s.returned(s.blocks[b]), s.blocks[b].to
			}
		}
	}
	v := s.value(i + 1)
	if last := s.at(tok.match - 1); s.is(i+1, "0") && s.is(i+2, ",") { // (0, redis_1.createClient)(…)
		v = s.value(i + 3)
		if s.is(next, "(") {
			return s.instance(v), s.called(next)
		}
	} else if typed := last.kind == word || last.text == ">"; typed && s.at(next).kind == word && !s.at(next).nl &&
		(v.class || v.role == unknown) {
		w, end := s.chain(next)
		if v.redis() && !w.redis() {
			return s.instance(v), end
		}
		return w, end
	}
	return v, next
}

// construct evaluates new a.B(…).
func (s *scanner) construct(i int) (value, int) {
	j := i
	for (s.is(j+1, ".") || s.is(j+1, "::")) && s.at(j+2).kind == word {
		j += 2
	}
	name := s.at(j).text
	if s.is(i, "class") && s.lang.id == PHP { // new class extends A { … }
		for ; j < i+maxLook && !s.is(j, "{"); j++ {
		}
		return s.base(&block{from: i, bases: s.wordsIn(i+1, j)}), min(s.at(j).match, len(s.all)) + 1
	}
	v := s.typeValue(i, j+1)
	if _, known := s.names[name]; !known && v.role == other && !v.konst {
		v.name = name
	}
	next := j + 1
	if s.is(next, "<") {
		next = s.generic(next)
	}
	if v.redis() {
		v.name = name
		s.made(v, j)
	}
	if s.is(next, "(") {
		next = s.called(next)
	}
	if s.is(next, "{") && s.at(next).match < len(s.all) && (s.lang.id == Java || s.lang.id == PHP) { // an anonymous class
		next = s.at(next).match + 1
	}
	return s.instance(v), next
}

// generic is the token behind <…>, or the same one if that is an operator.
func (s *scanner) generic(i int) int {
	depth := 0
	for j := i; j < i+30; j++ {
		switch tok := s.at(j); {
		case tok.text == "<" && tok.kind == sign:
			depth++
		case tok.text == ">" && tok.kind == sign:
			if depth--; depth == 0 {
				return j + 1
			}
		case tok.kind == word, tok.text == ",", tok.text == ".", tok.text == "?", tok.text == "[", tok.text == "]":
		default:
			return i
		}
	}
	return i
}

// instance is an object of a class.
func (s *scanner) instance(v value) value {
	if v.class && v.redis() {
		v.class = false
		if v.role == queue {
			v.role = other
		}
	}
	return v
}

// rest evaluates the members behind a value.
func (s *scanner) rest(v value, i int) (value, int) {
	for {
		s.steps++
		tok := s.at(i)
		switch {
		case s.member(i) && s.at(i+1).kind == word:
			v, i = s.step(v, i+1)
		case s.member(i) && s.is(i+1, "<") && s.generic(i+1) > i+1: // a.<T>b()
			v, i = s.step(v, s.generic(i+1))
		case tok.kind == sign && tok.text == "!!", tok.kind == sign && tok.text == "!" && s.member(i+1):
			i++
		case tok.kind == open && tok.text == "[" && !tok.nl && !tok.space:
			v.name, i = s.at(i+1).text, s.called(i)
		default:
			return v, i
		}
		if i >= len(s.all) {
			return v, i
		}
	}
}

// step evaluates a member, which is called or not.
func (s *scanner) step(v value, at int) (value, int) {
	name, next := s.at(at).text, at+1
	if s.is(next, "<") && s.lang.id != Ruby && s.lang.id != Python && s.lang.id != PHP {
		if end := s.generic(next); s.is(end, "(") {
			next = end
		}
	}
	c := &call{scanner: s, recv: v, name: fold(name), pos: at, open: -1}
	isCall := s.is(next, "(") && !s.at(next).nl
	if isCall {
		c.open = next
		next = s.called(next)
	}
	if s.is(next, "{") && !s.at(next).nl && (s.lang.id == Kotlin || s.lang.id == Ruby) {
		c.block = next
		isCall = true
	} else if s.is(next, "do") && s.lang.id == Ruby && !s.at(next).nl {
		c.block = next
	}
	if s.lang.id == Ruby {
		isCall = true
	}
	if isCall {
		c.arguments()
		v = c.judge()
		v.called = c.open >= 0
		if c.block > 0 && s.at(c.block).kind == open && s.at(c.block).match < len(s.all) {
			next = s.at(c.block).match + 1
		}
	} else {
		v = s.property(v, name, at)
	}
	v.name = name
	return v, next
}

// property evaluates a member that is not called.
func (s *scanner) property(v value, name string, at int) value {
	switch {
	case v.self:
		return s.field(name, at)
	case v.class && v.redis():
		if r, ok := classRole(s.lang.id, name); ok && v.sure {
			v.role = r
		}
		v.name = name
		return v
	case v.redis() && s.lang.id == Kotlin && name == "keys":
		return value{role: keyspace, lib: v.lib, sure: v.sure}
	case v.redis():
		e, ok := s.effectOf(v.role, fold(name))
		if !ok && s.lang.id == Kotlin {
			e, ok = s.effectOf(v.role, "GET"+fold(name))
		}
		if ok && e.to != unknown && e.do == nil && e.sends == "" {
			return value{role: e.to, lib: v.lib, sure: v.sure, origin: v.origin}
		}
		if s.promisified(at) {
			if command, ok := commandOf(name); ok {
				(&call{scanner: s, recv: v, name: fold(name), pos: at, open: -1}).command(command)
			}
		}
		if saysRedis(name) || connectionName.MatchString(name) {
			return v
		}
		return value{role: other}
	}
	if w := s.field(name, at); w.role != unknown && (v.role != other || s.lang.id == Go) {
		return w
	}
	if saysRedis(name) {
		return s.named(name)
	}
	if v.role == other && !v.konst {
		return value{role: other}
	}
	return value{}
}

// promisified reports whether a method is handed to promisify.
func (s *scanner) promisified(at int) bool {
	up := s.up[at]
	return up > 0 && strings.HasPrefix(s.at(up-1).text, "promisify")
}

// named is a client that only a name tells of.
func (s *scanner) named(name string) value {
	v := value{role: client, lib: s.library(), name: name}
	if pipeName.MatchString(name) {
		v.role = pipe
	}
	return v
}

// library is the one that a client of the file is taken to be of.
func (s *scanner) library() *library {
	if len(s.libs) > 0 {
		return s.libs[0]
	}
	for i := range libraries {
		for _, l := range libraries[i].langs {
			if l == s.lang.id {
				return &libraries[i]
			}
		}
	}
	return nil
}

// required is the value of require("p").
func (s *scanner) required(from string) value {
	switch lib := libraryOf(JS, from); {
	case lib != nil:
		return s.classNamed(lib, from[strings.LastIndexByte(from, '/')+1:])
	case redisModule.MatchString(from[strings.LastIndexByte(from, '/')+1:]) && !accessory.MatchString(from):
		return value{role: client, lib: s.library()}
	case ownModule.MatchString(from):
		return value{}
	}
	return value{role: other}
}

// returned is the result of a function.
func (s *scanner) returned(b block) value {
	for i, at := range b.returns {
		if v := s.value(at); v.redis() {
			v.name = b.name
			return v
		}
		if i > 8 {
			break
		}
	}
	return value{}
}

// field evaluates this.name by the bindings of the class, or of the file.
func (s *scanner) field(name string, at int) value {
	name = bare(name)
	class := s.classAround(s.in[at])
	var v value
	for _, b := range s.names[name] {
		if !b.field && !b.fn && b.param == 0 || b.param > 0 && class == 0 {
			continue
		}
		if b.param > 0 && !s.isField(b) {
			continue
		}
		w := s.bound(b, name)
		if w.redis() && b.region == class {
			return w
		}
		if w.role != unknown && (!v.redis() || w.redis()) {
			v = w
		}
	}
	if v.role == unknown && saysRedis(name) {
		return s.named(name)
	}
	return v
}

// isField reports whether a parameter is that of a class.
func (s *scanner) isField(b *binding) bool { return s.blocks[b.param-1].class }

// lookup evaluates a name where it stands.
func (s *scanner) lookup(name string, at int) value {
	plain := bare(name)
	all := s.names[plain]
	for r := s.in[min(at, len(s.in)-1)]; r >= 0; r = s.blocks[r].parent {
		s.steps++
		var v value
		hit := false
		for _, b := range all {
			if b.region != r {
				continue
			}
			if s.steps++; b.at > at && (v.role != unknown || v.konst) && hit {
				break
			}
			w := s.bound(b, plain)
			if !b.busy && (w.role != unknown || w.konst || b.param > 0) {
				if b.at > at && hit && !w.redis() || !w.redis() && v.redis() && w.role != other {
					continue
				}
				if w.role == unknown && v.role != unknown {
					continue
				}
				v = w
			}
			hit = hit || !b.fn || w.role != unknown
		}
		if hit {
			if v.role == unknown && !v.konst {
				if saysRedis(plain) {
					return s.named(plain)
				}
				if s.fixture(all, r) {
					continue
				}
			}
			return v
		}
		if (plain == "it" || plain == "this") && s.lang.id == Kotlin {
			if y, ok := s.yields[s.blocks[r].from]; ok {
				return y
			}
		}
	}
	if v := s.className(plain); v.role != unknown {
		return v
	}
	if saysRedis(plain) {
		return s.named(plain)
	}
	return value{}
}

// fixture reports whether a parameter has the name of a function, as a fixture of pytest.
func (s *scanner) fixture(all []*binding, region int) bool {
	if s.lang.id != Python || region == 0 {
		return false
	}
	for _, b := range all {
		if b.fn && b.region != region {
			return true
		}
	}
	return false
}

// bound evaluates a binding, once.
func (s *scanner) bound(b *binding, name string) value {
	if b.known != nil {
		return *b.known
	}
	if b.busy || s.depth >= maxDepth {
		return value{}
	}
	b.busy = true
	s.depth++
	v := s.binds(b, name)
	s.depth--
	b.busy = false
	b.known = &v
	return v
}

func (s *scanner) binds(b *binding, name string) value {
	if b.fixed != nil {
		return *b.fixed
	}
	var v value
	typed := b.typed[1] > b.typed[0]
	if typed {
		v = s.instance(s.typeValue(b.typed[0], b.typed[1]))
	}
	if v.redis() && v.sure {
		if len(b.values) > 0 && (v.role == tx || v.role == pipe) {
			if w := s.value(b.values[0]); w.redis() {
				return w
			}
		}
		return v
	}
	for i, at := range b.values {
		if i > 8 {
			break
		}
		w := s.value(at)
		if names := s.taken[at]; len(names) > 0 && w.redis() { // { a, b } = x
			source := s.sources[name]
			if w.class {
				w = s.property(w, source, at)
			} else if e, ok := s.effectOf(w.role, fold(source)); ok {
				w = value{role: e.to, lib: w.lib, sure: w.sure}
			}
		}
		if w.redis() || w.konst && w.text != "" && w.role != unknown {
			return w
		}
		if (w.role != unknown || w.konst) && v.role == unknown {
			v = w
		}
	}
	if b.param > 0 && v.role == unknown {
		if y, ok := s.yielded(b); ok {
			return y
		}
	}
	return v
}

// yielded is the value that a call passes to a callback, or to its block.
func (s *scanner) yielded(b *binding) (value, bool) {
	fn := s.blocks[b.param-1]
	for _, at := range []int{fn.from, s.up[fn.from]} {
		if at < 0 || fn.class || at != fn.from && !s.is(at, "(") {
			continue
		}
		if h := s.headOf(at); h >= 0 {
			s.chain(h)
		}
		if y, ok := s.yields[at]; ok {
			return y, true
		}
	}
	return value{}, false
}

// headOf is the first token of the call that a bracket, or a block, belongs to.
func (s *scanner) headOf(at int) int {
	for j, n := at-1, 0; j >= 0 && n < maxLook; n++ {
		switch tok := s.at(j); {
		case tok.kind == clos && tok.match >= 0:
			j = tok.match - 1
		case tok.kind == word && s.member(j-1):
			j -= 2
		case tok.kind == word:
			return j
		default:
			return -1
		}
	}
	return -1
}

// className is a class by its name, or by its import.
func (s *scanner) className(name string) value {
	name = name[strings.LastIndexByte(name, '\\')+1:]
	path, imported := s.paths[name]
	if imported && path != name {
		if lib := libraryOf(s.lang.id, path); lib == nil && !ownModule.MatchString(path) && !saysRedis(name) {
			return value{role: other, class: true}
		}
	}
	if r, ok := classRole(s.lang.id, name); ok && (!shared[name] || len(s.libs) > 0 && (s.lang.wildcards || imported)) {
		return value{role: r, lib: s.library(), sure: r != other, class: true, name: name}
	}
	if s.lang.id == PHP && strings.EqualFold(name, "redis") {
		return value{role: client, lib: s.library(), sure: true, class: true, name: name}
	}
	for i := range s.blocks { // a class of the file that is derived from one
		b := &s.blocks[i]
		if b.class && b.name == name && i < maxBindings {
			if v := s.base(b); v.redis() {
				v.class = true
				return v
			}
		}
	}
	if len(name) > 0 && name[0] >= 'A' && name[0] <= 'Z' && saysRedis(name) && s.lang.id != Go {
		return value{role: client, lib: s.library(), class: true, name: name}
	}
	return value{}
}

// base is the client that a class is derived from.
func (s *scanner) base(b *block) value {
	if b.base != nil || s.depth >= maxDepth || len(b.bases) == 0 {
		if b.base != nil {
			return *b.base
		}
		return value{}
	}
	b.base = &value{}
	s.depth++
	defer func() { s.depth-- }()
	for _, name := range b.bases {
		if name == b.name {
			continue
		}
		if v := s.lookup(name, b.from-1); v.redis() && v.class && (v.role == client || v.role == container) {
			v.class = false
			b.base = &v
			return v
		}
	}
	return value{}
}

// typeValue is the value of a type.
func (s *scanner) typeValue(from, to int) value {
	v := value{role: other}
	seen, wrapped := false, false
	for i := from; i < to && i < from+40; i++ {
		tok := s.at(i)
		names := []string{tok.text}
		if tok.kind == text { // "redis.Redis"
			names = strings.FieldsFunc(tok.text, func(r rune) bool { return r > 127 || !part(byte(r)) })
		} else if tok.kind != word {
			continue
		}
		for _, name := range names {
			if opaque[name] || len(name) == 1 {
				if !seen {
					v = value{}
				}
				continue
			}
			if name == "readonly" || name == "typeof" {
				continue
			}
			if wrappers[name] && (s.is(i+1, "<") || s.is(i+1, "[")) {
				wrapped = true
				v = value{}
				continue
			}
			if s.is(i+1, ".") && i+2 < to && tok.kind == word { // a.B: by its last word, or its first
				if w := s.lookup(name, i); w.redis() {
					seen, v = true, w
				}
				continue
			}
			w := s.lookupType(name, i)
			if w.redis() && (!seen || wrapped || w.sure) && (!seen || !strings.Contains(collections, " "+s.at(from).text+" ")) {
				if r, ok := classRole(s.lang.id, name); ok && w.sure {
					w.role = r
				}
				w.class = true
				return w
			}
			if !seen {
				v = value{role: other}
				if v0 := v; wrapped && tok.kind == word {
					v = v0
				}
			}
			seen = true
		}
		if seen && v.redis() && !s.is(i+1, ".") {
			return v
		}
	}
	return v
}

const collections = " Map List Set Dictionary IDictionary Collection IEnumerable Array HashMap ConcurrentHashMap ConcurrentDictionary ILogger Logger " +
	"IOptions Action Func Consumer Function Callable "

// lookupType is the value of the name of a type.
func (s *scanner) lookupType(name string, at int) value {
	name = strings.TrimPrefix(name, `\`)
	for _, b := range s.names[name[strings.LastIndexByte(name, '\\')+1:]] {
		if b.fixed != nil {
			return *b.fixed
		}
	}
	if !s.lang.typeFirst && len(s.names[name]) > 0 {
		if v := s.lookup(name, at); v.redis() && v.class {
			return v
		}
	}
	if v := s.className(name); v.role != unknown {
		return v
	}
	return value{role: other}
}

// goLibrary is the library of an import of Go.
func goLibrary(path string) *library {
	if _, known := rediscalls.LibraryOfPath(path); known {
		return &libraries[len(libraries)-1]
	}
	return nil
}

// goName is the name of an imported package of Go.
func goName(path string) string {
	if goLibrary(path) != nil {
		for part := range strings.SplitSeq(path, "/") {
			if strings.HasPrefix(part, "radix") || part == "rueidis" || part == "valkey-go" {
				return strings.TrimSuffix(part, "-go")
			}
		}
		return "redis"
	}
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && digit(last[1]) {
		last = parts[len(parts)-2]
	}
	return strings.TrimSuffix(last, ".go")
}
