package scriptcheck

import (
	"github.com/yuin/gopher-lua/ast"

	"github.com/unwatch/unwatch/proxycompat"
)

// redis7 made the shared globals readonly, and removed print.
var redis7 = proxycompat.Version{Major: 7}

// global evaluates a name that the script did not declare.
func (w *walker) global(e *ast.IdentExpr) value {
	v, known := globalOf(e.Value)
	switch {
	case !known, e.Value == "print" && !w.before(redis7): // deny_list in src/script_lua.c
		w.add(e.Line(), GlobalVariable, e.Value, "a local variable, declared before",
			"there is no such global variable: Script attempted to access nonexistent global variable '%s'", e.Value)
	case e.Value == "os":
		w.newer(e.Line(), "os", "the library", proxycompat.Version{Major: 7, Minor: 4}) // redis/redis#12971
	case v.origin == unclear && !harmless(e.Value):
		w.add(e.Line(), CannotTell, e.Value, "plain code", "the use of %s cannot be followed", e.Value)
	}
	return v
}

// globalOf returns the global that Redis defines by this name: the allow lists in src/script_lua.c, and the
// additions of versions before 7.
func globalOf(name string) (v value, known bool) {
	switch name {
	case "KEYS":
		return value{origin: allKeys}, true
	case "ARGV":
		return value{origin: argument}, true
	case "server": // as Valkey calls it
		return value{origin: library, name: "redis"}, true
	case "redis", "string", "table", "math", "os", "coroutine", "cjson", "cmsgpack", "bit", "struct",
		"assert", "collectgarbage", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "print", "rawequal",
		"rawget", "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall":
		return value{origin: library, name: name}, true
	case "load", "loadstring", "loadfile", "dofile", "setfenv", "getfenv", "_G", "debug":
		return value{origin: unclear}, true
	}
	return value{origin: unclear}, harmless(name)
}

// harmless reports whether a global function has no effect that the analysis needs.
func harmless(name string) bool {
	return name == "_VERSION" || name == "gcinfo" || name == "newproxy"
}

// changesGlobal checks an assignment to a name that the script did not declare.
func (w *walker) changesGlobal(name *ast.IdentExpr) {
	if name.Value == "KEYS" && w.sharded {
		w.changesKeys(name.Line())
		return
	}
	if _, known := globalOf(name.Value); known {
		w.changesLibrary(name.Line(), name.Value)
		return
	}
	why := "Script attempted to create global variable '" + name.Value + "'"
	if !w.before(redis7) {
		why = readonly
	}
	w.add(name.Line(), GlobalVariable, name.Value, "local "+name.Value, "scripts must not make global variables: %s", why)
}

const readonly = "Attempt to modify a readonly table"

// changesLibrary checks an assignment to a global that Redis defines, which servers permit up to 6.2.
func (w *walker) changesLibrary(line int, name string) {
	if w.backend == (proxycompat.Version{}) || !w.before(redis7) {
		w.add(line, GlobalVariable, name, "a local variable", "Redis 7 and later do not let a script change it: %s", readonly)
	}
}
