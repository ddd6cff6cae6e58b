// Package seal has the seals of an update of several keys: their scripts, the record of a decision, and how a process
// that meets a seal ends it.
//
// A key is open, or it has one of these marks, a list that begins with the same word:
//
//	state         made by                        holds                  ends by
//	tx            an update of several keys      the value before       the decision of the update
//	sealed, away  package cutover, for a move    the value on its way   a step of the move
//	any other     a newer build                  unknown                no step: an [rmw.ErrUnsupported]
//
// The decision of an update is one field, named by the id of the update, of a hash: "committed" with all new values,
// or "aborted". It is made once, by HSETNX. All decisions about keys with the same hash tag as the least key of the
// update are in one hash, on the server of that key, so that the names of keys lead to their decisions.
//
// A process that meets a seal asks for the decision. If there is none, it reads the value that the seal holds, or, to write,
// waits for up to [Patience], and then decides that the update is aborted.
package seal
