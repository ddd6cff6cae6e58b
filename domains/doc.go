// Package domains holds the parts that packages chat, session and mcc share: storage of an entity, names of
// operations, and refusals.
//
// # Entities
//
// A room, a session and an agent are entities. Each is one value under one key, and one [rmw.Store.Update] at a
// time changes it. So every rule about a single entity holds at every instant, whatever crashes. Package desk
// keeps the rules about several entities.
//
// [Repository] stores entities of any type that embeds a [Header]. It depends on [rmw.Store] only, so a service
// changes its path in one line.
//
// # Operations
//
// Every change carries an [Op]: an id and the time. These packages never read a clock, so an operation computes
// the same result wherever and however often it runs.
//
// The id makes an operation idempotent. An entity remembers the last [Remembered] operations that changed it. A
// remembered operation that is sent again changes nothing and succeeds. So after an [rmw.ErrOutcomeUnknown], send
// the same Op again. The entity also remembers names: an id that was used for another operation is refused.
//
// # Refusals
//
// A change that a rule forbids returns a [*Refusal], such as chat.ErrRoomFull or session.ErrRated. Nothing is
// written, the lock is free again, and a retry does not help. Any other error is about the store or the call.
//
// # Layouts
//
// [JSON] keeps an entity as one document. [Hash] keeps one field per attribute, which services in other languages
// can read and change one by one. [HashByVersion] is Hash with a lighter guard. All three keep unknown fields: a
// field of another service survives every change, also within members, slots and transfers.
//
// A Get or an update of a value that cannot be decoded returns an [rmw.ErrUndecodable] and leaves the value as it
// is. So does a value that breaks a rule, unless the Mend of a Config repairs it (see [CodecOf]), and a value whose
// stored id differs from the id of its key. A value without an id gets the id of its key.
//
// For another layout, give a Config your own [rmw.Codec].
package domains
