package scriptcheck

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// member evaluates a field of a library table.
func (w *walker) member(line int, of string, index value) value {
	name, known := index.text()
	if known {
		if of == "os" && name != "clock" {
			w.add(line, GlobalVariable, "os."+name, "", "of os, Redis gives scripts no more than os.clock")
		}
		return value{origin: library, name: of + "." + name}
	}
	if of == "redis" {
		w.add(line, CannotTell, "redis[…]", "redis.call", "which function of redis is called cannot be told")
	}
	return value{origin: unclear}
}

// builtin evaluates a call of a function of Lua or Redis.
func (w *walker) builtin(name string, e *ast.FuncCallExpr, args values, s *scope) values {
	first := args.at(0)
	if since, known := scriptFunctions()[name]; known && !w.tested[name] {
		w.newer(e.Line(), name, "the function", since)
	}
	switch name {
	case "redis.call", "redis.pcall":
		w.command(e.Line(), e.Args, args)
		return one(value{origin: reply})
	case "redis.replicate_commands":
		w.replicated = true
	case "redis.error_reply":
		if len(e.Args) > 0 {
			w.errorText(e.Line(), name, e.Args[0], s)
		}
	case "error":
		w.raises(e, first, s)
	case "pcall", "xpcall":
		return w.protected(name, e, args)
	case "unpack", "table.unpack":
		return w.unpacked(e.Line(), args)
	case "tostring", "assert", "setmetatable":
		return values{list: append([]value{first}, args.from(1).list...), open: args.open, rest: args.rest}
	case "select":
		return values{open: true, rest: args.from(1).all()}
	case "rawget":
		return one(w.index(e.Line(), first, args.at(1)))
	case "rawset":
		if first.origin == tabular {
			first.table.put(args.at(1), args.at(2))
		}
		return one(first)
	case "table.insert":
		w.inserted(e, args)
		return values{}
	case "table.remove":
		return one(w.removed(e, args))
	case "table.sort":
		if first.origin == tabular {
			first.table.loosen()
		}
	case "next":
		if first.origin == allKeys {
			w.allOfKeys(e.Line())
			return values{list: []value{{origin: computed}, {origin: declared}}}
		}
		return values{open: true, rest: value{origin: unclear}}
	case "ipairs", "pairs":
		return values{open: true, rest: value{origin: unclear}}
	case "cjson.decode", "cmsgpack.unpack", "struct.unpack":
		made := value{origin: computed}
		if first.origin == argument || first.origin == reply {
			made = first
		}
		return values{open: true, rest: made}
	}
	w.handedOn(e.Line(), args)
	switch {
	case strings.HasPrefix(name, "redis."), strings.HasPrefix(name, "coroutine."):
		return one(value{origin: unclear})
	}
	return values{open: true, rest: value{origin: computed}}
}

// handedOn reports redis.call passed as a value: its later calls cannot be followed.
func (w *walker) handedOn(line int, args values) {
	for _, v := range args.list {
		if v.origin == library && (v.name == "redis" || v.name == "redis.call" || v.name == "redis.pcall") {
			w.add(line, CannotTell, v.name, "a direct call", "%s is handed on to something that cannot be followed", v.name)
		}
	}
}

// protected evaluates pcall(f, …) as a call of f.
func (w *walker) protected(name string, e *ast.FuncCallExpr, args values) values {
	rest := args.from(1)
	exprs := e.Args[min(1, len(e.Args)):]
	if name == "xpcall" { // xpcall(f, handler)
		rest, exprs = values{}, nil
	}
	out := values{list: []value{{origin: computed}}}
	switch f := args.at(0); {
	case f.origin == callable:
		results := w.invoke(f.function, rest)
		out.list = append(out.list, results.list...)
		out.open, out.rest = results.open, results.rest
	case f.origin == library && (f.name == "redis.call" || f.name == "redis.pcall"):
		w.command(e.Line(), exprs, rest)
		out.list = append(out.list, value{origin: reply})
	default:
		w.mayCall(e.Line(), f, rest)
		out.open, out.rest = true, value{origin: unclear}
	}
	return out
}

// unpacked evaluates unpack(v), unpack(v, i) and unpack(v, i, j).
func (w *walker) unpacked(line int, args values) values {
	switch v := args.at(0); v.origin {
	case allKeys:
		w.allOfKeys(line)
		return values{open: true, rest: value{origin: declared}}
	case tabular:
		return v.table.unpackedFrom(args.at(1), args.at(2))
	case argument, reply, computed:
		return values{open: true, rest: value{origin: v.origin}}
	}
	return values{open: true, rest: value{origin: unclear}}
}

// inserted evaluates table.insert(t, v) and table.insert(t, at, v).
func (w *walker) inserted(e *ast.FuncCallExpr, args values) {
	switch list := args.at(0); {
	case list.origin == allKeys:
		w.changesKeys(e.Line())
	case list.origin != tabular:
	case len(e.Args) == 2:
		w.append(list.table, args.at(1))
	default:
		list.table.insert(args.at(1), args.at(2), w.certain())
	}
}

// removed evaluates table.remove(t) and table.remove(t, at).
func (w *walker) removed(e *ast.FuncCallExpr, args values) value {
	list := args.at(0)
	if list.origin != tabular {
		return w.index(e.Line(), list, value{origin: computed})
	}
	if len(args.list) == 1 && !args.open {
		return list.table.pop(w.certain())
	}
	return list.table.remove(args.at(1), w.certain())
}
