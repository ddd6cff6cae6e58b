package rmw

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Add adds delta to the counter at key and returns the sum, as INCRBY does: the value is a decimal
// number, and a key that does not exist counts as 0. Key.TTL applies as in any Update.
//
// The error is [ErrUndecodable] if the value is no such number, [ErrInvalid] if the sum overflows an
// int64, or the Store's. Nothing is written then, except with [ErrOutcomeUnknown]: an Add that is
// repeated after it may count twice.
func Add(ctx context.Context, store Updater, key Key, delta int64) (int64, error) {
	key.Kind = KindString
	var sum int64
	_, err := store.Update(ctx, key, func(_ context.Context, v Value) (Value, error) {
		var n int64
		if v.Exists() {
			var err error
			if n, err = strconv.ParseInt(v.Text(), 10, 64); err != nil || strconv.FormatInt(n, 10) != v.Text() {
				cause := fmt.Errorf("%v is no decimal number of 64 bits", v)
				return Value{}, &Error{Path: "rmw", Op: "add", Key: key.Name, Reason: ErrUndecodable, Cause: cause}
			}
		}
		if delta > 0 && n > math.MaxInt64-delta || delta < 0 && n < math.MinInt64-delta {
			cause := errors.New("the sum overflows 64 bits")
			return Value{}, &Error{Path: "rmw", Op: "add", Key: key.Name, Reason: ErrInvalid, Cause: cause}
		}
		sum = n + delta
		return String(strconv.FormatInt(sum, 10)), nil
	})
	if err != nil {
		return 0, err
	}
	return sum, nil
}
