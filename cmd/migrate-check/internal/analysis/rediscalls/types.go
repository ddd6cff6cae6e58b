package rediscalls

import "go/types"

// LibraryOf tells which client library a function is of.
func LibraryOf(fn *types.Func) (Library, bool) { return libraryOf(fn.Pkg()) }

// TypeOf tells the client library and the name of a named type, or of a pointer to one.
func TypeOf(t types.Type) (Library, string, bool) { return clientType(t) }

// Receiver is the name of the type that a method is of; "" if it is none.
func Receiver(fn *types.Func) string { return receiver(fn.Signature()) }

// NameOf is what code calls a function, for a message: "(*redis.Client).Watch".
func NameOf(fn *types.Func) string { return (&Call{Func: fn}).Name() }
