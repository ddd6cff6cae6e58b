package rmwtest

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// eachTxCommand runs one Transact per command that a Transact sends, with the fault on that command, and compares its
// error with the stored values.
func (c *check) eachTxCommand(fault func(cancel context.CancelFunc) Fault, timeout time.Duration,
	judge func(n int, err error, took time.Duration),
) {
	warm := c.Open()
	c.transact(warm, addAll("warm", c.key(rmw.KindString)), c.key(rmw.KindString))
	c.close(warm)
	for n := 1; n <= maxCommands; n++ {
		s := c.Open()
		keys := c.keysOf(3)
		ctx, cancel := context.WithTimeout(c.Ctx, timeout)
		stop := c.Faults.Arm(n, fault(cancel))
		start := time.Now()
		_, err := rmw.Transact(ctx, s, addAll("first", keys...), keys[:2]...)
		took := time.Since(start)
		cancel()
		c.close(s)
		struck := stop()
		c.Pass(2 * lateDelay)
		stored := 0
		for _, key := range keys {
			c.usable(key, "other")
			v, _ := c.stored(key)
			stored += ids(v)["first"]
		}
		switch {
		case stored != 0 && stored != len(keys):
			c.Errorf("command %d, %v: %d of %d keys are written", n, err, stored, len(keys))
		case err == nil && stored == 0:
			c.Errorf("command %d: an acknowledged Transact is lost", n)
		case err != nil && !errors.Is(err, rmw.ErrOutcomeUnknown) && stored > 0:
			c.Errorf("command %d: all is written, and the error is %v", n, err)
		}
		judge(n, err, took)
		if !struck {
			if n == 1 {
				c.Errorf("the fault on the first command never struck: the Target's Faults do not see this Store")
			}
			return
		}
	}
	c.Errorf("a Transact sent more than %d commands", maxCommands)
}

func checkTxFaults(c *check) {
	for _, kind := range []FaultKind{RequestLost, ReplyLost} {
		c.eachTxCommand(func(context.CancelFunc) Fault { return Fault{Kind: kind} }, 20*time.Second,
			func(n int, err error, _ time.Duration) {
				if err != nil && !errors.Is(err, rmw.ErrUnavailable) {
					c.Errorf("%v on command %d: %v, want success or ErrUnavailable: the store can be asked again", kind, n, err)
				}
			})
	}
}

func checkTxLate(c *check) {
	c.eachTxCommand(func(context.CancelFunc) Fault { return Fault{Kind: Late, Delay: lateDelay} }, 20*time.Second,
		func(n int, err error, _ time.Duration) {
			if err != nil && !errors.Is(err, rmw.ErrUnavailable) {
				c.Errorf("command %d late: %v, want success or ErrUnavailable: the store can be asked again", n, err)
			}
		})
}

func checkTxCtxEnds(c *check) {
	c.eachTxCommand(endCtx, 20*time.Second, c.wantCanceled)
	c.eachTxCommand(hang, hangTimeout, c.wantTimeout)
}
