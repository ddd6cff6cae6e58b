package rediscalls

import (
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// Name is the name of a client library, without version and path.
type Name string

// The libraries.
const (
	GoRedis Name = "go-redis"
	Redigo  Name = "redigo"
	Rueidis Name = "rueidis" // and its fork valkey-go
	Radix   Name = "radix"
	GoZero  Name = "go-zero" // its stores/redis
	Gredis  Name = "gredis"  // of GoFrame
)

// Library is a client library.
type Library struct {
	Name  Name
	Major int
}

// clients lists the import paths. Forks have another prefix.
var clients = []struct {
	name  Name
	major int // if the path has no version
	path  *regexp.Regexp
}{
	{GoRedis, 6, regexp.MustCompile(`^(?:(?:.*/)?go-redis(?:/redis)?(?:/v(\d+))?|gopkg\.in/(?:go-redis/)?redis\.v(\d+))$`)},
	{Redigo, 1, regexp.MustCompile(`^(?:.*/)?redigo/redis(?:/v(\d+))?$`)},
	{Redigo, 1, regexp.MustCompile(`^(?:.*/)?redis-go-cluster$`)}, // its Do is redigo's
	{Rueidis, 1, regexp.MustCompile(`^(?:.*/)?(?:rueidis|valkey-go)(?:/internal/cmds)?$`)},
	{GoRedis, 9, regexp.MustCompile(`^(?:.*/)?(?:rueidis/rueidiscompat|valkey-go/valkeycompat)$`)}, // has its methods and types
	{GoZero, 1, regexp.MustCompile(`^(?:.*/)?go-zero/core/stores/redis$`)},
	{Gredis, 1, regexp.MustCompile(`^(?:.*/)?gf(?:/v(\d+)|/g)?/database/gredis$`)},
	{Radix, 1, regexp.MustCompile(`^(?:.*/)?radix(?:/v(\d+)|\.v(\d+)/(?:redis|pool|pubsub|cluster|sentinel|util)` +
		`|/redis|/extra/(?:pool|pubsub|cluster|sentinel))$`)}, // the last two are older than the versions
}

// inPaths lists words: each path in clients has one of them.
var inPaths = []string{"redi", "rueidis", "valkey", "radix"}

// LibraryOf returns the client library of a package.
func LibraryOf(pkg *types.Package) (Library, bool) {
	if pkg == nil {
		return Library{}, false
	}
	if lib, ok := LibraryOfPath(pkg.Path()); ok {
		return lib, true
	}
	return forkOf(pkg)
}

// forkOf recognizes a fork of a client library by its declarations and its package name, under any path.
func forkOf(pkg *types.Package) (Library, bool) {
	if pkg.Name() != "redis" {
		return Library{}, false
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if _, ok := pkg.Scope().Lookup(name).(*types.TypeName); !ok {
				return false
			}
		}
		return true
	}
	switch {
	case has("Tx", "Pipeliner", "StatusCmd", "UniversalClient"):
		// The version is a guess: since v7 only TxPipelined is a transaction; v8 adds a ctx.
		return Library{GoRedis, 7}, true
	case has("Conn", "Pool", "PubSubConn", "Args"):
		return Library{Redigo, 1}, true
	}
	return Library{}, false
}

// LibraryOfPath returns the client library of an import path.
func LibraryOfPath(path string) (Library, bool) {
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		path = path[i+len("/vendor/"):]
	}
	if !slices.ContainsFunc(inPaths, func(word string) bool { return strings.Contains(path, word) }) {
		return Library{}, false // without this, the expressions took a sixth of the time on a large module
	}
	for _, client := range clients {
		match := client.path.FindStringSubmatch(path)
		if match == nil {
			continue
		}
		lib := Library{Name: client.name, Major: client.major}
		for _, version := range match[1:] {
			if n, err := strconv.Atoi(version); err == nil {
				lib.Major = n
			}
		}
		return lib, true
	}
	return Library{}, false
}

// shapeOf recognizes a method of the user's own interface as one of a client, by the client's types in it.
func shapeOf(fn *types.Func) (Library, bool) {
	sig := fn.Signature()
	if sig.Recv() == nil || !types.IsInterface(sig.Recv().Type()) {
		return Library{}, false
	}
	if likeRedigo(fn.Name(), sig) {
		return Library{Name: Redigo}, true
	}
	for v := range sig.Results().Variables() {
		lib, name, ok := TypeOf(v.Type())
		if ok && lib.Name == GoRedis && (name == "PubSub" || name == "Pipeliner" || isCmd(v.Type())) {
			return lib, isOfClient(v.Type(), fn.Name())
		}
	}
	for v := range sig.Params().Variables() {
		if f, ok := v.Type().Underlying().(*types.Signature); ok && f.Params().Len() == 1 {
			lib, name, ok := TypeOf(f.Params().At(0).Type())
			if ok && lib.Name == GoRedis && (name == "Tx" || name == "Pipeliner") {
				return lib, isOfClient(f.Params().At(0).Type(), fn.Name())
			}
		}
	}
	return ownShape(fn.Name(), sig)
}

// ownShape recognizes a transaction of an interface with types of its own: TxPipeline, TxPipelined, or a Watch whose
// function gets a value with one of these.
func ownShape(method string, sig *types.Signature) (Library, bool) {
	lib := Library{Name: GoRedis, Major: 9}
	function := func() types.Type { // the parameter of a callback
		for v := range sig.Params().Variables() {
			if f, ok := v.Type().Underlying().(*types.Signature); ok && f.Params().Len() == 1 && f.Results().Len() == 1 {
				return f.Params().At(0).Type()
			}
		}
		return nil
	}
	switch method {
	case "TxPipeline":
		return lib, sig.Results().Len() > 0 && hasMethod(sig.Results().At(0).Type(), "Exec")
	case "TxPipelined":
		return lib, function() != nil
	case "Watch":
		return lib, hasMethod(function(), "TxPipelined", "TxPipeline")
	}
	return Library{}, false
}

// hasMethod reports whether a named type has one of these methods.
func hasMethod(t types.Type, names ...string) bool {
	if t == nil || Named(t) == nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		found, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		_, ok := found.(*types.Func)
		return ok
	})
}

// isOfClient reports whether the clients in the package of a type have a method. MultiGet of the user's own interface
// is not one of theirs, even if it returns their types.
func isOfClient(t types.Type, method string) bool {
	named := Named(t)
	if named == nil || named.Obj().Pkg() == nil {
		return false
	}
	pkg := named.Obj().Pkg()
	known := false
	for _, name := range []string{"Client", "ClusterClient", "Tx", "PubSub", "Pipeliner", "Cmdable"} {
		obj, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		known = true
		if found, _, _ := types.LookupFieldOrMethod(obj.Type(), true, pkg, method); found != nil {
			return true
		}
	}
	return !known
}

// Named is a named type, or the named element of a pointer; else nil.
func Named(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// likeRedigo reports whether a method has the signature of Do or Send of redigo's connections, with builtin types
// only: Do(name string, args ...any) (any, error).
func likeRedigo(method string, sig *types.Signature) bool {
	params, results := sig.Params(), sig.Results()
	if method != "Do" && method != "Send" || !sig.Variadic() || params.Len() != 2 || results.Len() == 0 {
		return false
	}
	word, ok := params.At(0).Type().Underlying().(*types.Basic)
	if !ok || word.Kind() != types.String || !isAny(params.At(1).Type().(*types.Slice).Elem()) {
		return false
	}
	fails := types.Identical(results.At(results.Len()-1).Type(), types.Universe.Lookup("error").Type())
	return fails && (method == "Send" && results.Len() == 1 ||
		method == "Do" && results.Len() == 2 && isAny(results.At(0).Type()))
}

func isAny(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface)
	return ok && i.Empty()
}

// byShape reports whether only the signature of a method speaks for the library. So only commands that Redis has count.
func (l Library) byShape() bool { return l.Major == 0 }

// onlyKnown removes the commands that Redis does not have.
func (c *Call) onlyKnown() {
	c.Unknown = false
	c.Commands = slices.DeleteFunc(c.Commands, func(command string) bool {
		_, known := proxycompat.CommandOf(strings.Fields(command)...)
		return !known
	})
}

// TypeOf returns the library and the name of a named type, or of a pointer to one.
func TypeOf(t types.Type) (Library, string, bool) {
	named := Named(t)
	if named == nil {
		return Library{}, "", false
	}
	lib, ok := LibraryOf(named.Obj().Pkg())
	return lib, named.Obj().Name(), ok
}

// isCmd reports whether a type is a command of go-redis.
func isCmd(t types.Type) bool {
	_, name, ok := TypeOf(t)
	return ok && strings.HasSuffix(name, "Cmd")
}

// IsClient reports whether an import path is that of a client library.
func IsClient(path string) bool {
	_, ok := LibraryOfPath(path)
	return ok
}

// MayBeClient reports whether an import path may be that of a client, or of a fork that only its types show.
func MayBeClient(path string) bool {
	return IsClient(path) || strings.Contains(strings.ToLower(path), "redi")
}
