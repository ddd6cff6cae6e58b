package worker

import (
	"math"
	"runtime"
	"slices"
	"strings"
)

// profileRate is how many bytes are allocated, on the average, between two samples for
// the heap profile: few enough to see 10,000 small objects, many enough to cost nothing.
const profileRate = 4 << 10

// allocatedBy is how many of the live bytes were allocated by functions whose names
// contain one of these, or by what they called, as far as the samples tell. They are
// those of the last memory.
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
			seen := 1 - math.Exp(-size/float64(runtime.MemProfileRate)) // how likely one such object is
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
