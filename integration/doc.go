// Package integration runs the conformance suite, and fleets of writers, against real servers:
// redis-server, alone and behind nutcracker (twemproxy), with a relay in front that can lose any command or
// reply. It also opens a shadow's report page in a real browser.
//
// It is a separate module, so that users do not download its dependencies. Its tests start the servers on
// free loopback ports and stop them. A missing server skips the test, and fails it in CI; `make test` at
// the root installs the servers.
package integration
