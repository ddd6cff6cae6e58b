package worker

import (
	"math"
	"runtime"
	"slices"
	"strings"
)

// profileRate is the average number of bytes between samples of the heap profile. It shows
// 10,000 small objects, and has no measurable cost.
const profileRate = 4 << 10

// allocatedBy estimates the live bytes that were allocated in calls of functions with these names.
// It uses the samples up to the last call of memory.
func allocatedBy(functions []string) int64 {
	var records []runtime.MemProfileRecord
	n, ok := runtime.MemProfile(nil, false)
	for !ok {
		records = make([]runtime.MemProfileRecord, n+50)
		n, ok = runtime.MemProfile(records, false)
	}
	sum := 0.0
	for _, r := range records[:n] {
		if r.InUseObjects() > 0 && passes(r.Stack(), functions) {
			size := float64(r.InUseBytes()) / float64(r.InUseObjects())
			seen := 1 - math.Exp(-size/float64(runtime.MemProfileRate)) // probability of a sample of one such object
			sum += float64(r.InUseBytes()) / seen
		}
	}
	return int64(sum)
}

func passes(stack []uintptr, functions []string) bool {
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		if slices.ContainsFunc(functions, func(name string) bool { return strings.Contains(frame.Function, name) }) {
			return true
		}
		if !more {
			return false
		}
	}
}
