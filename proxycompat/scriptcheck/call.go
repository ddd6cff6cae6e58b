package scriptcheck

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/unwatch/unwatch/proxycompat"
)

// call is a call of whatever it is.
func (w *walker) call(e *ast.FuncCallExpr, s *scope) values {
	if e.Func == nil {
		return w.method(e, s)
	}
	f := w.eval(e.Func, s)
	args := w.list(e.Args, s)
	switch f.origin {
	case callable:
		return w.invoke(f.function, args)
	case library:
		return w.builtin(f.name, e, args, s)
	}
	w.mayCall(e.Line(), f, args)
	w.handedOn(e.Line(), args)
	return values{open: true, rest: value{origin: unclear}}
}

// method is object:name(…).
func (w *walker) method(e *ast.FuncCallExpr, s *scope) values {
	object := w.eval(e.Receiver, s)
	args := w.list(e.Args, s)
	switch object.origin {
	case tabular:
		if f := object.table.get(textOf(e.Method)); f.origin == callable {
			args.list = append([]value{object}, args.list...)
			return w.invoke(f.function, args)
		}
	case library:
		w.handedOn(e.Line(), one(object))
	case declared, literal, argument, reply, computed:
		return values{open: true, rest: value{origin: computed}} // of a string, as k:lower()
	}
	return values{open: true, rest: value{origin: unclear}}
}

// mayCall: a function that is not known, called with what looks like a command, may well be
// redis.call by another name.
func (w *walker) mayCall(line int, f value, args values) {
	if f.origin != unclear && f.origin != nothing {
		return
	}
	name, ok := args.at(0).text()
	if !ok {
		return
	}
	if _, known := proxycompat.CommandOf(name); known {
		w.add(line, CannotTell, strings.ToUpper(name), "redis.call", "what is called here cannot be told; it may be redis.call")
	}
}

// command is a call of Redis. exprs and args are all the arguments, the command's name
// included.
func (w *walker) command(line int, exprs []ast.Expr, args values) {
	if len(args.list) == 0 && !args.open {
		return // an error, whatever the server
	}
	name := args.at(0)
	if name.origin != literal || name.texts == nil {
		w.add(line, CannotTell, "redis.call", "a literal", "which command is called cannot be told")
		return
	}
	for _, text := range name.texts {
		c := &redisCall{line: line, exprs: exprs, args: args}
		c.words = append(c.words, strings.ToUpper(text))
		for _, v := range args.from(1).list {
			c.words = append(c.words, wordOf(v))
		}
		if args.open {
			for range opened {
				c.words = append(c.words, unknownWord)
			}
		}
		w.judge(c)
	}
}

const (
	// unknownWord stands for a word that is not known. It is no option of any command, and
	// where a number of keys is expected there is at least that one.
	unknownWord = "1"
	// opened is how many words stand for an unpacked list: enough for keys at every other place.
	opened = 4
)

func wordOf(v value) string {
	if text, ok := v.text(); ok {
		return text
	}
	return unknownWord
}

// redisCall is one call of one command.
type redisCall struct {
	line  int
	words []string // the command in upper case, then what is known of its arguments
	exprs []ast.Expr
	args  values
}

func (c *redisCall) name() string { return c.words[0] }

// fixed is how many words there are for sure, the command included.
func (c *redisCall) fixed() int { return len(c.args.list) }

// literal reports whether word i stands in the script, and is this one, in any case.
func (c *redisCall) literal(i int, word string) bool {
	text, ok := c.known(i)
	return ok && strings.EqualFold(text, word)
}

func (c *redisCall) known(i int) (string, bool) {
	if i >= c.fixed() {
		return "", false
	}
	return c.args.list[i].text()
}

// judge holds the call against all rules.
func (w *walker) judge(c *redisCall) {
	if w.forbidden(c) {
		return // then nothing of it is executed
	}
	w.wholeServer(c)
	w.message(c)
	w.age(c)
	w.writes(c)
	if w.sharded {
		w.keys(c)
	}
}
