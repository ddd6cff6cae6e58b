// Package rewrite offers changes of code that keep its behaviour, for the few shapes of a transaction where the code
// proves that, and a scaffold of the new code for all others.
//
// Three shapes are changed:
//
//   - an update: a Watch of one key that gets it, computes, and sets or deletes it in one
//     TxPipelined, becomes the Update of an rmw.Store. So does one field of a hash, or the
//     whole of it, that is changed by one HSet, HDel or Del
//   - a look: a Watch under which nothing is written becomes plain calls of the client
//   - a pipeline of one: a TxPipelined or TxPipeline with one command becomes the command, if that may
//     be sent twice: go-redis sends a command again when its answer is lost, and a transaction only once
//
// # Updates
//
// The read becomes redis.NewStringResult of the present value, with redis.Nil if there is none. So the value and the
// error of each conversion, and all code that uses them, stay the same. The write becomes the returned value.
//
// The stored bytes, the expiry, the number of attempts, and the error, by errors.Is, stay the same. A conflict
// is TxFailedErr as before: an Update calls its function again after a conflict, and the function
// returns TxFailedErr from that call. So a loop around the call keeps its limit and its own
// error, and a caller that compares with TxFailedErr still finds it. A ctx that ends among
// conflicts is the error of the ctx. The Store must allow two calls: a MaxAttempts of 1
// makes a conflict an rmw.ErrContended. Variables outside change as often as before.
//
// Four things differ. A key of another type is an rmw.ErrWrongKind, and an error of the network has
// another text. Update itself returns an error of the read, without running the function: variables
// that the function assigns mean nothing beside such an error. An update that would write the stored value again
// writes nothing, and has no conflict. A Store with locks waits where WATCH has a conflict: that ends with the ctx,
// or by lockupdate.Config.MaxWait with an rmw.ErrContended.
//
// Nothing is changed, and the reason is given, if the code does not prove the rest: the keys differ, the function may
// block or ignores an error of the read, an error of the write is wrapped, the bytes of a value depend on its type at
// run time, the result does not compile, and so on.
//
// # Stores
//
// The code must have a store: a variable, or a field of the receiver, with the Update of rmw.Store. It is used if it is
// the only one and there is only one client beside it, since nothing tells the server of a store.
// Options.Store overrides that, where it compiles. A new store for each call would cost a lease loop for each call.
//
// # Imports
//
// A change adds the imports that it needs. It leaves unused imports, because two
// changes of a file do not know of each other: package fixer and the drivers of golang.org/x/tools remove them.
package rewrite
