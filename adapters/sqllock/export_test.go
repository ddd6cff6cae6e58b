package sqllock

import "github.com/unwatch/unwatch/lock/driver"

// ServiceOf returns the service below a Locker.
func ServiceOf(l *Locker) driver.Service { return l.service }

// Explain is explain.
func Explain(err error) error { return explain(err) }
