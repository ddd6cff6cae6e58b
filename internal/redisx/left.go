package redisx

import (
	"math"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Left is what PTTL answered, as an rmw.Peeker shows it; gone means that there is no key.
func Left(pttl int64) (left time.Duration, gone bool) {
	const most = math.MaxInt64 / int64(time.Millisecond) // others may set more
	switch {
	case pttl == -2:
		return 0, true
	case pttl < 0:
		return rmw.NoTTL, false
	}
	return time.Duration(min(max(pttl, 1), most)) * time.Millisecond, false
}
