// Package rewrite offers changes of code that keep what it does, for the few shapes of a
// transaction where that can be told from the code, and a beginning of what to write for
// all others.
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
// # What stays the same
//
// The stored bytes, the expiry, the number of attempts, and the error, by errors.Is. A conflict
// is TxFailedErr as before: an Update calls its function again after a conflict, and the function
// returns TxFailedErr from that call. So a loop around the call keeps its limit and its own
// error, and a caller that compares with TxFailedErr still finds it. A ctx that ends among
// conflicts is the error of the ctx. For that, the Store must allow two calls: a MaxAttempts of 1
// makes a conflict an rmw.ErrContended.
//
// Four things differ. A key of another type is an rmw.ErrWrongKind, and an error of the network has
// another text. An error of Get that is returned as it is, is what Update returns, so its handling
// goes away; a variable outside, assigned by the function, means nothing beside such an error. An
// update that would write what is stored already writes nothing, and has no conflict. A Store with
// locks waits where WATCH has a conflict: that ends with the ctx, or by lockupdate.Config.MaxWait
// with an rmw.ErrContended.
//
// Where the code does not show that all else stays, nothing is changed, and the reason is told: the
// key is not the same expression all over, the function does more than compute, an error of the
// write is wrapped, a value is not of a type whose bytes are known, the result would not compile,
// and so on.
//
// # Where the store comes from
//
// A change cannot conjure a store up: one for each call would cost a loop of leases for each
// call, and one in a package's variable would hide when it is closed. So the code has to have
// one already: a variable, or a field of the receiver, with the Update of rmw.Store. It is
// taken if it is the only one and there is only one client beside it, since nothing tells
// which of two servers a store writes to. Whoever knows better says so in Options.Store, which
// is tried wherever it compiles. Otherwise there is the beginning of a change, and no change.
//
// # Imports
//
// A change adds the imports that it needs. It does not remove those that it leaves unused: two
// changes of a file do not know of each other, and whoever applies them, as package fixer and
// the drivers of golang.org/x/tools, removes them.
package rewrite
