package transport

import "time"

// Outage is a time in which nothing can be sent: connections are refused, or the circuit
// breaker is open. Commands that were not sent wait for its end, up to Options.MaxOutage.
// A command that may have been sent is never sent again for it.
type Outage struct {
	since time.Time // when the first command was tried
	tries int
}

// Failed records that a command was tried at sent and could not be sent.
func (o *Outage) Failed(sent time.Time) {
	if o.tries++; o.tries == 1 {
		o.since = sent
	}
}

// Active reports whether a command could not be sent.
func (o *Outage) Active() bool { return o.tries > 0 }
