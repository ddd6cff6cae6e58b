// Package integration runs the conformance suite, and fleets of writers, over
// real servers: redis-server, alone and behind nutcracker (twemproxy), with a
// relay in front that can lose any command or reply. It also looks at the page of
// a shadow's report in a real browser.
//
// It is a module of its own, so that what it needs reaches no user. Its tests
// start the servers on free loopback ports and stop them. A missing server is a
// loud skip, and a failure in CI; `make test` at the root installs them.
package integration
