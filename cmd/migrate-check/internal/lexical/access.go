package lexical

import (
	"regexp"
	"strings"
)

// makerName is how functions are called that make or get a client.
var makerName = regexp.MustCompile(`(?i)^_*(?:get|create|make|init|open|connect|new|build|acquire|obtain|with)_?[a-z]*?redis` +
	`(_?(?:client|conn|connection|instance|db|cli)?)(?:_?async)?$`)

// access looks at a member, whose name is at i, and calls it if it is called.
func (w *walker) access(v value, i, end int) (value, int) {
	name := w.at(i).text
	next := w.generic(i + 1)
	if w.d.lang == Ruby {
		return w.rubyMember(v, i, end)
	}
	called := w.is(next, "(")
	if !called {
		next = i + 1
	}
	if w.d.lang == Kotlin && !called && w.is(next, "{") && !w.at(next).nl {
		called = true
	}
	// Whatever it is: only Redis has that, or it is called so.
	if w.d.lang == CSharp && called && v.shape == nil && !v.self && (name == "GetSubscriber" || !v.known || w.callsItRedis(w.owner(i))) {
		if s := w.stranger(i, next); s != nil {
			return w.method(value{shape: s, known: true}, i, next, end, true)
		}
	}
	switch {
	case v.self:
		f := w.field(name)
		if base := w.baseShape(); base != nil && f.shape == nil {
			if _, ok := w.classScope().vars[name]; !ok {
				f = value{shape: base}
				return w.method(f, i, next, end, called)
			}
		}
		if called && f.shape == nil && !f.known {
			f = w.made(name)
		}
		return f, next
	case v.shape != nil:
		return w.method(v, i, next, end, called)
	case v.konst || v.known && !w.container(name) && !w.held(i, called):
		if w.d.lang == Go {
			return w.goField(name), next
		}
		return value{known: true}, next
	}
	if w.d.lang == Go {
		return w.goField(name), next
	}
	if called {
		if s := w.stranger(i, next); s != nil {
			return w.method(value{shape: s, known: true}, i, next, end, true)
		}
		return w.made(name), next
	}
	return w.byName(name), next
}

// container reports whether something that is not known may well hold what is called so.
func (w *walker) container(name string) bool {
	return w.byName(name).shape != nil && (w.d.lang == Python || w.d.lang == JS || w.d.lang == PHP)
}

// held reports whether a field of something else may well be a connection: what an object
// keeps is not known by what the object is.
func (w *walker) held(i int, called bool) bool {
	return !called && w.guess != nil && !w.unsure && (w.d.lang == Python || w.d.lang == JS || w.d.lang == PHP) &&
		dataName.MatchString(w.at(i).text)
}

// goField is what a field of that name is, of whichever struct.
func (w *walker) goField(name string) value {
	if v, ok := w.scopes[0].vars["."+name]; ok {
		return v
	}
	return w.byName(name)
}

// baseShape is what the class around is derived from.
func (w *walker) baseShape() *shape {
	for i := len(w.scopes) - 1; i > 0; i-- {
		if w.scopes[i].body {
			return w.scopes[i].base
		}
	}
	return nil
}

// method looks at a method or field of a thing that is known.
func (w *walker) method(v value, i, next, end int, called bool) (value, int) {
	name := w.at(i).text
	st, ok := v.shape.step(name)
	if !ok && w.d.lang == Kotlin && !called { // a property is a method that gets it
		if getter, is := v.shape.step("get" + strings.ToUpper(name[:1]) + name[1:]); is && getter.to != "" {
			return w.result(v, getter, 0), next
		}
	}
	if ok && st.class {
		return value{shape: w.d.shapes[st.to], class: true, known: true}, next
	}
	if ok && !called && st.to != "" && len(st.commands) == 0 && st.do == nil {
		return w.result(v, st, 0), next
	}
	if !called {
		if w.is(next, ".") && (w.is(next+1, "bind") || w.is(next+1, "call") || w.is(next+1, "apply")) || w.promisified(i) {
			w.perform(v, i, nil)
			return nothing, next
		}
		if ok && st.self || generic[name] {
			return v, next
		}
		if w.d.lang == PHP && (strings.HasPrefix(w.at(i).text, "MULTI") || strings.ToUpper(name) == name) { // a constant
			return value{known: true, konst: true, text: name}, next
		}
		if v.shape.module || v.class {
			return value{known: true}, next
		}
		if v.shape == w.guess && plainClient.MatchString(name) { // an object that has several
			return v, next
		}
		f := w.byName(name)
		f.known = true
		return f, next
	}
	if generic[name] && w.is(next, "(") && w.at(next).match == next+1 || !ok && wraps[name] {
		w.yield = v
		if w.is(next, "(") {
			_, next = w.arguments(next, end)
		}
		if w.d.lang == Kotlin && w.is(next, "{") && !w.at(next).nl {
			w.yield = v
			w.braced(next)
			next = min(w.at(next).match+1, end)
		}
		w.yield = value{}
		return v, next
	}
	yield := w.yield
	w.yield = value{}
	if st.yields != "" {
		w.yield = value{shape: w.d.shapes[st.yields], known: true}
		if st.tx {
			w.yield.origin = i + 1
			w.opened[i] = true
		}
	}
	var args []arg
	if w.is(next, "(") {
		args, next = w.arguments(next, end)
	}
	res := w.perform(v, i, args)
	if w.d.lang == Kotlin && w.is(next, "{") && !w.at(next).nl {
		if w.yield.shape == nil && wraps[name] {
			w.yield = v
		}
		w.braced(next)
		next = min(w.at(next).match+1, end)
	}
	w.yield = yield
	return res, next
}

// generic are methods that give the thing itself, or what wraps it, in whatever library.
var generic = map[string]bool{
	"get": true, "Value": true, "value": true, "Result": true, "getObject": true, "getIfAvailable": true, "result": true,
	"GetAwaiter": true, "GetResult": true, "ConfigureAwait": true, "unwrap": true, "getValue": true, "current": true, "await": true,
	"join": true, "block": true, "client": true,
}

// wraps are methods that hand the thing over to a function, and return it.
var wraps = map[string]bool{
	"use": true, "let": true, "also": true, "apply": true, "run": true, "tap": true, "ConfigureAwait": true, "with": true, "then": true,
	"closing": true,
}

// promisified reports whether the method is an argument of promisify, in which case it is
// called later.
func (w *walker) promisified(i int) bool {
	if w.d.lang != JS {
		return false
	}
	for j := i; j > i-8; j-- {
		if w.is(j, "(") {
			return w.is(j-1, "promisify") || w.is(j-1, "denodeify")
		}
	}
	return false
}

// invoke looks at a call of the value itself: it makes one of a class.
func (w *walker) invoke(v value, at, i, end int, constructed bool) (value, int) {
	args, next := w.arguments(i, end)
	if v.shape == nil {
		if w.d.lang == PHP && (w.is(at, "app") || w.is(at, "resolve")) && len(args) == 1 && args[0].value.text == "redis" {
			return value{shape: w.guess}, next
		}
		return value{known: v.known}, next
	}
	if v.class || constructed || v.shape.module {
		return w.instance(v, at, args), next
	}
	return v, next
}

// instance is what a class makes.
func (w *walker) instance(v value, at int, args []arg) value {
	if v.shape == nil {
		return nothing
	}
	res := value{shape: v.shape, known: true}
	if st, ok := v.shape.step("()"); ok {
		c := &call{walker: w, recv: v, pos: at, args: args, to: w.result(v, st, 0)}
		if len(st.commands) > 0 || st.rule != "" {
			c.to.origin = w.does(c, st)
		}
		if st.do != nil {
			return st.do(c)
		}
		if st.to != "" {
			return c.to
		}
		return res
	}
	if v.shape.module && !v.class {
		return nothing
	}
	return res
}

// arguments looks at those of a call.
func (w *walker) arguments(i, end int) ([]arg, int) {
	tok := w.at(i)
	after := min(tok.match+1, end)
	w.depth++
	w.inside++
	defer func() { w.depth--; w.inside-- }()
	if w.depth > maxDepth {
		return nil, after
	}
	var args []arg
	w.push()
	defer w.pop()
	for j := i + 1; j < tok.match; {
		from := j
		name := ""
		if w.at(j).kind == word && (w.is(j+1, "=") && w.d.lang != JS || w.is(j+1, ":") && (w.d.lang == CSharp ||
			w.d.lang == Ruby || w.d.lang == PHP)) {
			name = w.at(j).text
			j += 2
		}
		v, next := w.expr(j, tok.match)
		j = max(next, j)
		for j < tok.match && !w.is(j, ",") { // what is no operand
			w.steps++
			j = max(w.rest(j, tok.match), j+1)
		}
		args = append(args, arg{name: name, value: v, from: from, to: min(j, tok.match)})
		j++
	}
	return args, after
}

// rest looks at what is left of an argument, up to its end.
func (w *walker) rest(i, end int) int {
	tok := w.at(i)
	switch tok.kind {
	case word, text:
		if next, ok := w.declaration(i, end); ok {
			return next
		}
		_, next := w.expr(i, end)
		return next
	case open:
		return w.group(i)
	}
	return i + 1
}
