// Package several updates several keys together, by commands of one key each. Package model, beside internal/seal, explores the protocol.
//
// An attempt takes all keys in one flush: each value is replaced by a seal and returned. Then fn runs, and one command
// decides: it stores all new values as the record of the decision. That is the moment of the update, and the caller is
// answered. Behind the answer each key is opened with its new value, and the decision is forgotten.
//
// Keys are waited for in the order of their names: an attempt that finds a key taken gives back the keys behind it, and
// waits with those before it. So attempts of any processes cannot wait for each other in a circle.
//
// The keys of an update are free within the process once it is decided, so that the next one sends its takes while they are being
// opened. After some updates, or one that another process has blocked, they are free only once they are open: other processes and
// plain readers need the pause.
//
// Within a process, calls stand in a [Line]. A call runs at once if its keys are free. The calls that have waited for the same
// keys become one attempt over the union of their keys, with one fn after the other.
//
// A fn that is slow would keep the keys sealed. It runs on values that were read without a seal, and the attempt that
// follows only compares them.
package several
