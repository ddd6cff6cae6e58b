package etcdlock

import "time"

// SetClock has l measure its leases by another clock.
func SetClock(l *Locker, now func() time.Time) { l.now = now }
