// Package domains is what packages chat, session and mcc have in common: how an
// entity is stored, how an operation is named, and what a refusal is.
//
// # An entity
//
// A room, a session, an agent: each is one value under one key, changed by one
// [rmw.Store.Update] at a time. So every rule about a single entity holds at every
// instant, whatever crashes. Rules about several entities are package desk's.
//
// [Repository] stores entities of any type that embeds a [Header]. It knows
// [rmw.Store] only, so a service changes its path in one line.
//
// # An operation
//
// Every change carries an [Op]: an id and the time. Nothing in these packages asks
// a clock, so an operation computes the same wherever and however often it runs.
//
// The id makes it idempotent. An entity remembers the last [Remembered] operations
// that changed it; one that comes again changes nothing and succeeds. So after an
// [rmw.ErrOutcomeUnknown], send the same Op again. It remembers their names, too: an id
// that was used for another operation is refused, because that would not happen at all.
//
// # A refusal
//
// What the rules do not permit returns a [*Refusal] (chat.ErrRoomFull,
// session.ErrRated): nothing is written, the lock is free again, and trying once
// more will not help. Any other error is about the store.
//
// # Layouts
//
// [JSON] keeps an entity as one document, [Hash] as one field per attribute, which
// services in other languages can read, and change, one by one; [HashByVersion] is the
// same, with a lighter guard. All keep what they do not know: a field that another service has put there is still there after any
// change, within members, slots and transfers, too. All refuse, with
// [rmw.ErrUndecodable], to touch what they cannot read.
//
// What was stored before there were rules, and breaks one, is such a thing, too, unless
// the Mend of a Config repairs it on the way in: see [CodecOf].
//
// So is an entity whose stored id is not that of its key: a copy under another key, or a
// backup under a wrong name. One without an id has that of its key.
//
// A layout of one's own is an [rmw.Codec]; give it to a Config.
package domains
