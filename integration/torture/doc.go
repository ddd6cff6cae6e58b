// Package torture tries to make the stores lose an update, and checks that none is lost.
//
// A run is a table of cells. Each cell is a [Topology], real servers behind relays that can be
// cut; a [Nemesis], which strikes again and again while the cell lasts; and a fleet: processes
// of their own that update the same few keys, each with a client of its own.
//
// # What is promised, and checked
//
// Every update adds an id that nobody else adds. So what is stored at the end tells of each
// update whether it was carried out, how often, and in which order:
//
//   - an acknowledged id is there exactly once,
//   - an id whose update failed is not there: "not written" is a promise,
//   - an id whose outcome is unknown is there at most once,
//   - each acknowledged update was given exactly what those before it had left,
//   - the order agrees with time: with what came back before it, everything that began later
//     begins. That is linearizability, and [porcupine] decides it over updates and reads,
//     with the unknown ones left open,
//   - at the end no lock stays without an expiry, and no goroutine of a store is left.
//
// A counter has no ids; of it the sum is checked, that no two were told they made the same
// number, and that it does not fall. Besides values, each process works with locks ([Works]):
//
//   - a section lasts as long as its ctx was seen not to have ended: no two of one lock overlap,
//     and one within another is let in at once,
//   - what a store outside Redis takes by the fencing token is not lost, whatever becomes of the
//     lock: this holds also where Redis forgets it,
//   - transfers under the locks of two keys that were carried out have an order that all keys agree on,
//   - the rules of the desk hold once what crashes have left is cleared up.
//
// # What proves the checks
//
// A [Control] is a store with one mistake, as people make them. A run in which one of them is
// not caught has proven nothing, and fails.
//
// # Where Redis itself loses
//
// A failover loses what had not been replicated, whoever the client is: that is counted, and
// fails no run. A [Remedy] is what people do against it. It is played beside none at the same
// place, so that both meet the same strikes, and what it loses nevertheless is counted likewise.
//
// # Chance
//
// Everything left to chance comes from one seed. Time does not: with the same seed the
// nemeses strike in the same order and ways, and the servers' and goroutines' timing is what
// the machine makes of it.
//
// [porcupine]: https://github.com/anishathalye/porcupine
package torture
