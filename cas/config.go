package cas

import (
	"cmp"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Config tunes a [Store]. The zero Config works.
type Config struct {
	// MaxAttempts bounds how often fn is called in one Update; then it fails
	// with rmw.ErrContended. Default 100.
	MaxAttempts int

	// Backoff is the delay after a conflict. Default 1 ms, doubling up to 64 ms.
	Backoff rmw.Backoff
}

func (c Config) withDefaults() Config {
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 100)
	c.Backoff.Base = cmp.Or(c.Backoff.Base, time.Millisecond)
	c.Backoff.Max = cmp.Or(c.Backoff.Max, max(64*time.Millisecond, c.Backoff.Base))
	return c
}

// Validate reports, as an [rmw.ErrInvalid], what cannot work. A Store made with
// such a Config returns that error from every call.
func (c Config) Validate() error {
	switch {
	case c.MaxAttempts < 0:
		return fmt.Errorf("%w: cas.Config.MaxAttempts is %d; use a positive number, or 0 for the default", rmw.ErrInvalid, c.MaxAttempts)
	case c.Backoff.Base < 0 || c.Backoff.Max < 0:
		return fmt.Errorf("%w: cas.Config.Backoff is %+v; use positive durations", rmw.ErrInvalid, c.Backoff)
	}
	return nil
}
