package rediscalls

import "go/types"

// LibraryOf returns the client library of a function.
func LibraryOf(fn *types.Func) (Library, bool) { return libraryOf(fn.Pkg()) }

// TypeOf returns the client library and the name of a named type, or of a pointer to one.
func TypeOf(t types.Type) (Library, string, bool) { return clientType(t) }

// Receiver is the name of a method's receiver type; "" for a function.
func Receiver(fn *types.Func) string { return receiver(fn.Signature()) }

// NameOf formats a function for a message: "(*redis.Client).Watch".
func NameOf(fn *types.Func) string { return (&Call{Func: fn}).Name() }
