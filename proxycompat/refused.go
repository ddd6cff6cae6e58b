package proxycompat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// RefusedError says that a command was not sent, because the profile's proxy
// would refuse it, misdirect it or harm others with it. Nothing of it reached
// the network.
//
// errors.Is(err, rmw.ErrUnsupported) is true: retrying cannot help.
type RefusedError struct {
	Command string // upper case
	Profile string // name of the profile
	Rule    Rule   // the rule that decided
	Reason  string // why this call was refused; often Rule.Why
	Instead string // what to send instead; may be empty
	Source  string // where the rule is known from
}

// Error names the command, the profile, the reason and the way out. It never
// contains keys or values.
func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "proxycompat: %s not sent: %s: %s", showCommand(e.Command), e.Profile, e.Reason)
	if e.Instead != "" {
		b.WriteString("; instead: " + e.Instead)
	}
	if e.Source != "" {
		b.WriteString(" (" + e.Source + ")")
	}
	return b.String()
}

// Unwrap makes errors.Is(err, rmw.ErrUnsupported) true.
func (e *RefusedError) Unwrap() error { return rmw.ErrUnsupported }

// showCommand keeps a hostile command name short and on one line.
func showCommand(name string) string {
	const limit = 64
	if len(name) > limit {
		name = name[:limit] + "…"
	}
	q := strconv.Quote(name)
	if q == `"`+name+`"` {
		return name
	}
	return q
}
