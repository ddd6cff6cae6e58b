// Package redispubsub defines an analyzer for publish and subscribe, which a proxy refuses.
//
// # Analyzer redispubsub
//
// redispubsub: find SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE, PUBLISH and SPUBLISH
//
// A Codis-style proxy refuses these commands. What is found:
//
//   - MC201: a subscription, in all clients and by all names
//   - MC202: a publication
//
// What waits for a message can poll, bounded by the time that a value has left, as
// github.com/unwatch/unwatch/lockupdate does; a real channel needs a Redis that is not
// behind the proxy, or a queue.
package redispubsub
