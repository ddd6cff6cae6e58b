package proxycompat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// RefusedError reports that a command was not sent, because the profile's proxy would refuse it, misroute
// it or harm other clients with it. No byte of it reached the network.
//
// errors.Is(err, rmw.ErrUnsupported) is true: a retry cannot succeed.
type RefusedError struct {
	Command string // upper case
	Profile string // name of the profile
	Rule    Rule   // the rule that decided
	Reason  string // why this call was refused; often Rule.Why
	Instead string // what to send instead; may be empty
	Source  string // the origin of the rule
}

// Error names the command, the profile, the reason and the alternative. It never contains keys or values.
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

func (e *RefusedError) Unwrap() error { return rmw.ErrUnsupported }

// showCommand shortens a command name and keeps it on one line, since it may be hostile.
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
