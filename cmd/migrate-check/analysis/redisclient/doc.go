// Package redisclient defines an analyzer for how clients are set up.
//
// # Analyzer redisclient
//
// redisclient: find clients whose setup does not suit a proxy
//
// A proxy speaks as one server does, and refuses much of what a client says when it connects.
// None of that is seen where commands are sent. What is found:
//
//   - MC601: clients of a cluster, of sentinels, or of a ring
//   - MC602: what a client sends when it connects and a proxy refuses: the name of the client,
//     the handshake of go-redis v9, and the client-side cache of rueidis
//   - MC603: another database than 0, by an option, an address, or SELECT
//
// What a proxy does is what its profile says: see package profile. Options are looked at where
// they are written, as literals or assignments; what is read from a configuration is not
// known here.
//
// The category of a diagnostic is its rule, with a severity behind a slash where it is not
// that of the rule: "MC602/warning".
package redisclient
