// Package redisnotify defines an analyzer for keyspace notifications, which no proxy passes on.
//
// # Analyzer redisnotify
//
// redisnotify: find keyspace notifications
//
// A server publishes what happens to its keys on channels of its own. What is found:
//
//   - MC203: a subscription to __keyspace@ or __keyevent@, and the setting
//     notify-keyspace-events
package redisnotify
