package worker

import (
	"runtime"
	"syscall"
	"time"
)

// CPU is the CPU time that this process has used so far, in user and kernel mode.
func CPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// usage stops the world to be exact, so it stays out of what it measures.
func usage() Usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Usage{CPU(), m.Mallocs, m.TotalAlloc}
}

// memory is what the live objects and the stacks take.
func memory() int64 {
	runtime.GC()
	runtime.GC() // what the first one has found to be in a pool only
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
