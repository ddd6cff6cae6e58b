// Package model explores the protocol of an update of several keys by commands of one key each, before it is built.
//
// One attempt of a transaction:
//
//   - take: each key, in one flush. The value is replaced by a seal with the id of the attempt, and returned. A key
//     that another attempt has sealed is refused.
//   - fn runs, while the keys are sealed.
//   - decide: SET NX of a key of its own, with all new values. This is the moment of the transaction, and the caller
//     is answered.
//   - unseal: each key with a seal of this id gets its new value, or its base again after an abort.
//   - forget: the decision is deleted, once every unseal is answered.
//
// After a refusal with all replies there, the attempt unseals its own keys, and resolves the seal in its way. If a
// reply is missing, it decides that it is aborted, by the same SET NX: the reply tells the decision. Every process
// that meets a seal does the same, and then unseals the key as decided. Values that fn only reads are valid if this
// SET NX was the first: no other process has unsealed a key before.
//
// [Explore] visits every order of commands, with commands that run late or never, processes that end after any
// step, commits of one key under a guard, and reads of several keys. In every state, each key shows, or will show, the
// value by the order of the decisions and commits. Negative controls leave one rule out each, and break it. A
// failover that forgets a write breaks it, too: no protocol of single commands survives that.
package model
