package redlock

import "time"

// SetClock has l measure its leases by another clock.
func SetClock(l *Locker, now func() time.Time) { l.service.now = now }
