// Package ttl validates expiries.
package ttl

import (
	"fmt"
	"time"
)

// Invalid returns the mistake in the TTL of a Key or a Value, or "". rmw.NoTTL, which is -1, is valid.
func Invalid(d time.Duration) string {
	switch {
	case d < -1:
		return fmt.Sprintf("is %v; use 0 to keep the expiry, NoTTL to remove it or a positive duration", d)
	case d > 0 && d < time.Millisecond:
		return fmt.Sprintf("is %v; Redis counts expiries in milliseconds, so use at least 1ms", d)
	}
	return ""
}
