package lexical

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// scanner looks at one file.
type scanner struct {
	*tokens
	profile *proxycompat.Profile
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
	begun   bool            // a transaction was reported
	ends    []*call         // EXEC and DISCARD on a client
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
	begun  bool   // a pipeline or transaction that was reported
	konst  bool   // a constant
	text   string // its text
}

// redis reports whether it is something of Redis.
func (v value) redis() bool { return v.role != unknown && v.role != other }

// maxDepth limits the recursion through expressions and names.
const maxDepth = 60

// maxLook limits the tokens that are read ahead.
const maxLook = 80

func newScanner(p *proxycompat.Profile, lang *language, path string, t *tokens) *scanner {
	return &scanner{tokens: t, profile: p, lang: lang, path: path, names: map[string][]*binding{}, taken: map[int][]string{},
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
