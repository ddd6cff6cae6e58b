package worker

import (
	"runtime"
	"syscall"
	"time"
)

// CPU returns the CPU time of this process in user and kernel mode.
func CPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// usage stops the world, so do not call it during a measurement.
func usage() Usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Usage{CPU(), m.Mallocs, m.TotalAlloc}
}

// memory returns the size of live objects and stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC() // empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
