package scriptcheck

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/unwatch/unwatch/proxycompat"
)

// call evaluates a call expression.
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
		return values{open: true, rest: value{origin: computed}} // a string method, such as k:lower()
	}
	return values{open: true, rest: value{origin: unclear}}
}

// mayCall reports an unknown function with arguments like those of a command: it may be an alias of
// redis.call.
func (w *walker) mayCall(line int, f value, args values) {
	if f.origin != unclear && f.origin != nothing {
		return
	}
	name, ok := args.at(0).text()
	if !ok {
		return
	}
	if _, known := proxycompat.CommandOf(name); known {
		w.add(line, CannotTell, strings.ToUpper(name), "redis.call", "the function called here is unknown; it may be redis.call")
	}
}

// command checks a call of redis.call or redis.pcall. exprs and args are all its arguments, including the
// command name.
func (w *walker) command(line int, exprs []ast.Expr, args values) {
	if len(args.list) == 0 && !args.open {
		return // an error on any server
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
	// unknownWord replaces a word with an unknown value. It matches no option of a command, and as a key
	// count it is at least 1.
	unknownWord = "1"
	// opened is the number of words that replace an unpacked list: enough for keys at every second
	// position.
	opened = 4
)

func wordOf(v value) string {
	if text, ok := v.text(); ok {
		return text
	}
	return unknownWord
}

// redisCall is a call of one command.
type redisCall struct {
	line  int
	words []string // the command in upper case, then the known arguments
	exprs []ast.Expr
	args  values
}

func (c *redisCall) name() string { return c.words[0] }

// fixed returns the number of words that are certainly present, including the command.
func (c *redisCall) fixed() int { return len(c.args.list) }

// known returns word i if it is a literal in the script.
func (c *redisCall) known(i int) (string, bool) {
	if i >= c.fixed() {
		return "", false
	}
	return c.args.list[i].text()
}

// judge applies all rules to the call.
func (w *walker) judge(c *redisCall) {
	if w.forbidden(c) {
		return // the server rejects the call
	}
	w.wholeServer(c)
	w.message(c)
	w.age(c)
	w.writes(c)
	if w.sharded {
		w.keys(c)
	}
}
