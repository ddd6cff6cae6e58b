package lexical

import (
	"github.com/unwatch/unwatch/proxycompat"
)

// scanner searches one file.
type scanner struct {
	*tokens
	profile   *proxycompat.Profile
	lang      *language
	path      string
	up        []int              // by token: the bracket around it, -1 if there is none
	names     map[string][]bound // the declarations of each name, in order
	next      map[string][]bound // those of the present pass
	imported  bool               // the file imports a client library
	rivals    bool               // the file imports another library that publishes and subscribes
	transacts bool               // it calls multi, so that watch is part of a transaction
	begun     bool               // a transaction was reported
	ends      []*call            // EXEC and DISCARD on a client
	reports   map[int][]*report
	heads     []head // of the functions and classes around the present token
	funcs     map[int]string
	own       map[string]bool   // the functions of the file, by folded name
	constants map[string]string // names that are assigned a string or a number
	depth     int
	steps     int
}

// maxLook limits the tokens that are read ahead, maxDepth the links of a chain of calls, maxBound the declarations
// of a name, and maxName the length of a string that is the name of a service.
const (
	maxLook  = 80
	maxDepth = 25
	maxBound = 1000
	maxName  = 40
)

func newScanner(p *proxycompat.Profile, lang *language, path string, t *tokens) *scanner {
	return &scanner{tokens: t, profile: p, lang: lang, path: path, names: map[string][]bound{}, reports: map[int][]*report{},
		funcs: map[int]string{}, own: map[string]bool{}, constants: map[string]string{}}
}

func (s *scanner) run() {
	s.brackets()
	if !s.usesRedis() {
		return
	}
	s.next = s.names
	s.pass(s.declare)
	s.next = map[string][]bound{} // a field may be declared behind its use
	s.pass(s.declare)
	s.names = s.next
	s.pass(func(i int) {
		switch s.all[i].kind {
		case word:
			s.called(i)
		case text:
			s.text(i)
		}
	})
	if !s.begun {
		for _, c := range s.ends {
			c.sent(false, c.name)
		}
	}
}

// pass visits each token, with the functions around it in heads.
func (s *scanner) pass(visit func(int)) {
	s.heads = nil
	for i := range s.all {
		s.steps++
		s.enter(i)
		visit(i)
	}
}

// brackets finds the bracket around each token.
func (s *scanner) brackets() {
	s.up = make([]int, len(s.all))
	around := []int{-1}
	for i := range s.all {
		if n := len(around) - 1; n > 0 && s.all[around[n]].match == i {
			around = around[:n]
		}
		s.up[i] = around[len(around)-1]
		if s.all[i].kind == open && s.all[i].match < len(s.all) {
			around = append(around, i)
		}
	}
}

// usesRedis reports whether a name in the code, or the path, says Redis, or methods are called that only clients of
// Redis have.
func (s *scanner) usesRedis() bool {
	found, watch, multi := saysPath(s.path), false, false
	for i := range s.all {
		name := s.all[i].text
		switch {
		case s.all[i].kind == text:
			path := s.is(i-1, "(") || s.lang.id == JS || s.lang.id == Go || s.lang.id == Ruby
			found = found || path && len(name) < maxName && redisModule.MatchString(name)
		case s.all[i].kind != word:
		case name == "IConnectionMultiplexer", name == "ConnectionMultiplexer":
			found, s.imported = true, true
		case redisModule.MatchString(name), redisName.MatchString(name), name == "Sidekiq", name == "Resque":
			found = true
		case s.member(i - 1):
			method := fold(name)
			watch = watch || method == "WATCH" || dataCommands[method] || severalKeys[method].alone()
			multi = multi || method == "MULTI" || method == "MULTIEXEC" || method == "UNWATCH"
		}
	}
	s.transacts = multi
	return found || watch && multi
}

// head is the beginning of a function or a class.
type head struct {
	column int // of the line that it begins on
	name   string
	class  bool
}

// enter keeps heads: one ends at a line that begins no further right.
func (s *scanner) enter(i int) {
	tok := s.at(i)
	if tok.nl && tok.kind != clos && tok.text != "{" && !s.lang.middle[tok.text] {
		column := s.column(i)
		n := len(s.heads)
		for n > 0 && s.heads[n-1].column >= column {
			n--
		}
		s.heads = s.heads[:n]
	}
	before, after := s.at(i-1).text, s.at(i+1).text
	assigned := (after == "=" || after == ":") && (s.is(i+2, "function") || s.is(i+2, "async"))
	if tok.kind != word || s.member(i-1) && !s.is(i-2, "self") && !assigned {
		return
	}
	class := classWords[before] && s.at(i-1).kind == word
	fn := assigned || defines[before] || before == "." && s.is(i-3, "def") || before == ")" && s.is(s.at(i-1).match-1, "func")
	if !class && !fn && after == "(" && s.lang.methods && !control[tok.text] && before != "new" && before != "?" {
		end := s.at(i+1).match + 1
		fn = s.is(end, "{") || s.is(end, "throws") || s.is(end, "=>") && s.lang.id == CSharp || s.is(end, ":") && s.lang.id == JS
	}
	if class || fn {
		s.own[fold(tok.text)] = true
		s.heads = append(s.heads, head{column: s.lineColumn(i), name: bare(tok.text), class: class})
		if len(s.heads) > maxDepth {
			s.heads = s.heads[1:]
		}
	}
}

// lineColumn is the column of the line that a token is on.
func (s *scanner) lineColumn(i int) int {
	for j := i; j > i-maxLook && j >= 0; j-- {
		if s.at(j).nl {
			return s.column(j)
		}
	}
	return s.column(i)
}

// function is the name of the present function, with its class; "" outside of functions.
func (s *scanner) function() string {
	for n := len(s.heads) - 1; n >= 0; n-- {
		if s.heads[n].class {
			continue
		}
		for c := n - 1; c >= 0; c-- {
			if s.heads[c].class {
				return s.heads[c].name + "." + s.heads[n].name
			}
		}
		return s.heads[n].name
	}
	return ""
}
