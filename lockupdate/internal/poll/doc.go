// Package poll plans how processes ask again for a lock that another process holds,
// without pub/sub and without a queue in the server. It is pure: no clock, no I/O.
package poll
