package etcdlock

import "time"

// SetClock replaces the clock that measures leases.
func SetClock(l *Locker, now func() time.Time) { l.now = now }
