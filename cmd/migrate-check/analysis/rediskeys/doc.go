// Package rediskeys defines an analyzer for what a proxy refuses, sends to the wrong server,
// or cannot carry out because of the keys.
//
// # Analyzer rediskeys
//
// rediskeys: find commands and keys that a proxy cannot serve
//
// What a proxy does with a command is what its profile says: see package profile. What is
// found:
//
//   - MC301: BLPOP, BRPOP and BRPOPLPUSH
//   - MC302: other commands that block, XREAD with BLOCK among them
//   - MC401: commands that are refused and that no other rule names, such as KEYS and SCAN; and
//     arguments that the server behind does not know, if the profile says its version
//   - MC402: commands with several keys that are not proven to share a slot
//   - MC403: MGET, MSET, DEL and EXISTS of several keys, which are split: with -split only
//   - MC404: commands that are sent to the wrong server, because a word that is no key decides
//   - MC405: mistakes in hash tags
//   - MC701: administration
//
// The keys are what package symbolic tells of them. A slice whose elements are not known may
// be of several keys, and proves nothing. A command of one key is none of its business,
// whatever else the command can do.
//
// # Severities
//
// The category of a diagnostic is its rule. Where one finding is graver than its rule, or
// less grave, the severity follows behind a slash: "MC402/error" is about keys that are proven
// to be in different slots.
package rediskeys
