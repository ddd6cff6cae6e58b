package rediscalls

import (
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// Name is the name of a client library, whatever its version, or path.
type Name string

// The libraries.
const (
	GoRedis Name = "go-redis"
	Redigo  Name = "redigo"
	Rueidis Name = "rueidis" // and valkey-go, which is made from it
	Radix   Name = "radix"
	GoZero  Name = "go-zero" // its stores/redis
	Gredis  Name = "gredis"  // of GoFrame
)

// Library is a client library.
type Library struct {
	Name  Name
	Major int
}

// clients are the paths of the packages. Forks have another beginning.
var clients = []struct {
	name  Name
	major int // without a version in the path
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
		`|/redis|/extra/(?:pool|pubsub|cluster|sentinel))$`)}, // the last two are before there were versions
}

// inPaths are words of which one is in each path that an expression of clients matches.
var inPaths = []string{"redi", "rueidis", "valkey", "radix"}

// libraryOf tells which client library a package is of.
func libraryOf(pkg *types.Package) (Library, bool) {
	if pkg == nil {
		return Library{}, false
	}
	if lib, ok := LibraryOfPath(pkg.Path()); ok {
		return lib, true
	}
	return forkOf(pkg)
}

// forkOf tells which client library a package is a fork of, by what it declares. Its path may
// be any; its name is that of the library's package.
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
		// Since v7 only TxPipelined is a transaction; since v8 there is a ctx.
		return Library{GoRedis, 7}, true
	case has("Conn", "Pool", "PubSubConn", "Args"):
		return Library{Redigo, 1}, true
	}
	return Library{}, false
}

// LibraryOfPath tells which client library a package is of by its path, as far as that says.
func LibraryOfPath(path string) (Library, bool) {
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		path = path[i+len("/vendor/"):]
	}
	if !slices.ContainsFunc(inPaths, func(word string) bool { return strings.Contains(path, word) }) {
		return Library{}, false // as nearly all: the expressions were a sixth of the time over a large module
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

// shapeOf tells whether a method of an interface of the user's own is one of a client's, by
// the client's types in it: so a client hides behind it.
func shapeOf(fn *types.Func) (Library, bool) {
	sig := fn.Signature()
	if sig.Recv() == nil || !types.IsInterface(sig.Recv().Type()) {
		return Library{}, false
	}
	if likeRedigo(fn.Name(), sig) {
		return Library{Name: Redigo}, true
	}
	for v := range sig.Results().Variables() {
		lib, name, ok := clientType(v.Type())
		if ok && lib.Name == GoRedis && (name == "PubSub" || name == "Pipeliner" || isCmd(v.Type())) {
			return lib, isOfClient(v.Type(), fn.Name())
		}
	}
	for v := range sig.Params().Variables() {
		if f, ok := v.Type().Underlying().(*types.Signature); ok && f.Params().Len() == 1 {
			lib, name, ok := clientType(f.Params().At(0).Type())
			if ok && lib.Name == GoRedis && (name == "Tx" || name == "Pipeliner") {
				return lib, isOfClient(f.Params().At(0).Type(), fn.Name())
			}
		}
	}
	return Library{}, false
}

// isOfClient reports whether the clients in the package of a type have a method: MultiGet of an
// interface of one's own is not one of theirs, whatever it returns.
func isOfClient(t types.Type, method string) bool {
	named := namedType(t)
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

// namedType is a type that has a name, or what a pointer to one points to; else nil.
func namedType(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// likeRedigo reports whether a method is one that redigo's connections have, too, whose types
// are nobody's own: Do(name string, args ...any) (any, error), and Send.
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

// byShape reports whether only the shape of a method says that it is of the library. So what
// it sends may be for something else, unless it is a command that Redis has.
func (l Library) byShape() bool { return l.Major == 0 }

// onlyKnown leaves a call the commands that Redis has.
func (c *Call) onlyKnown() {
	c.Unknown = false
	c.Commands = slices.DeleteFunc(c.Commands, func(command string) bool {
		_, known := proxycompat.CommandOf(strings.Fields(command)...)
		return !known
	})
}

// clientType tells the library and the name of a named type, or of a pointer to one.
func clientType(t types.Type) (Library, string, bool) {
	named := namedType(t)
	if named == nil {
		return Library{}, "", false
	}
	lib, ok := libraryOf(named.Obj().Pkg())
	return lib, named.Obj().Name(), ok
}

// isCmd reports whether a type is a command of go-redis, with its answer.
func isCmd(t types.Type) bool {
	_, name, ok := clientType(t)
	return ok && strings.HasSuffix(name, "Cmd")
}

// IsClient reports whether a path is that of a client library's package.
func IsClient(path string) bool {
	_, ok := LibraryOfPath(path)
	return ok
}

// MayBeClient reports whether a path may be that of a client, or of a fork, which only its
// types tell.
func MayBeClient(path string) bool {
	return IsClient(path) || strings.Contains(strings.ToLower(path), "redi")
}
