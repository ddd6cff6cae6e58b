package redisx

import (
	"math"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Left converts a reply of PTTL for an rmw.Peeker; gone means that the key is absent.
func Left(pttl int64) (left time.Duration, gone bool) {
	const most = math.MaxInt64 / int64(time.Millisecond) // other clients may set more
	switch {
	case pttl == -2:
		return 0, true
	case pttl < 0:
		return rmw.NoTTL, false
	}
	return time.Duration(min(max(pttl, 1), most)) * time.Millisecond, false
}
