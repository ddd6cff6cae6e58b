package rmwtest

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

func faultClauses() []Clause {
	return []Clause{
		{Name: "request-lost", NeedsFaults: true, run: func(c *check) { checkEachCommand(c, RequestLost) },
			Says: "Whichever command is lost on its way, the error tells the truth about the stored value, and no lock stays behind."},
		{Name: "reply-lost", NeedsFaults: true, run: func(c *check) { checkEachCommand(c, ReplyLost) },
			Says: "Whichever reply is lost after the command ran, an update is never applied twice, never reported wrongly, and no lock stays behind."},
		{Name: "read-survives", NeedsFaults: true, run: checkReadFaults,
			Says: "If a command or reply of a Read is lost, it is right or ErrUnavailable."},
		{Name: "ctx-ends-at-each-command", NeedsFaults: true, run: checkCtxAtEachCommand,
			Says: "Whichever command ctx ends at, the error tells the truth about the stored value."},
		{Name: "late", NeedsFaults: true, run: checkLate,
			Says: "Whichever command is executed only after its connection broke, an acknowledged update is over: it is not applied again later."},
		{Name: "hang", NeedsFaults: true, run: checkHang,
			Says: "Whichever command is never answered, the call returns when its ctx ends."},
	}
}

// maxCommands is more than any Update sends.
const maxCommands = 64

// eachCommand runs one Update per command that an Update sends, with the fault
// on that command, and compares its result with the stored value. A fault on a
// command after the answer (the release of a lock) counts as well. before makes
// the ctx of each call.
func (c *check) eachCommand(kind rmw.Kind, fault func(cancel context.CancelFunc) Fault, timeout time.Duration,
	judge func(n int, err error, took time.Duration),
) {
	warm := c.Open()
	c.update(warm, c.key(kind), adder(kind, "warm")) // script caches
	c.close(warm)                                    // or its release would meet the first fault
	for n := 1; n <= maxCommands; n++ {
		s := c.Open()
		key := c.key(kind)
		c.put(key, rmw.Value{}, rmw.NoTTL)
		ctx, cancel := context.WithTimeout(c.Ctx, timeout)
		stop := c.Faults.Arm(n, fault(cancel))
		start := time.Now()
		_, err := s.Update(ctx, key, adder(kind, "first"))
		took := time.Since(start)
		cancel()
		c.close(s) // its commands in the background meet the fault as well
		struck := stop()
		c.usable(key, "other")
		var acked, maybe []string
		acked = append(acked, "other")
		switch {
		case err == nil:
			acked = append(acked, "first")
		case errors.Is(err, rmw.ErrOutcomeUnknown):
			maybe = append(maybe, "first")
		}
		before := c.Violations()
		c.wantIDs(key, acked, maybe...)
		if c.Violations() > before {
			c.Errorf("… that was with the fault on command %d; Update returned: %v", n, err)
		}
		judge(n, err, took)
		if !struck {
			if n == 1 {
				c.Errorf("the fault on the first command never struck: the Target's Faults do not see this Store")
			}
			return
		}
	}
	c.Errorf("an Update sent more than %d commands", maxCommands)
}

// close ends a Store that has something to end.
func (c *check) close(s rmw.Store) {
	if closer, ok := rmw.As[io.Closer](s); ok {
		if err := closer.Close(); err != nil {
			c.Errorf("Close: %v", err)
		}
	}
}

func checkEachCommand(c *check, kind FaultKind) {
	for _, k := range c.kinds() {
		c.eachCommand(k, func(context.CancelFunc) Fault { return Fault{Kind: kind} }, 20*time.Second,
			func(n int, err error, _ time.Duration) {
				if err != nil && !errors.Is(err, rmw.ErrOutcomeUnknown) && !errors.Is(err, rmw.ErrUnavailable) {
					c.Errorf("%v on command %d: %v, want success, ErrUnavailable or ErrOutcomeUnknown", kind, n, err)
				}
			})
	}
}

func checkReadFaults(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		c.put(key, first, rmw.NoTTL)
		for _, fault := range []FaultKind{RequestLost, ReplyLost} {
			for n := 1; n <= maxCommands; n++ {
				stop := c.Faults.Arm(n, Fault{Kind: fault})
				got, err := s.Read(c.Ctx, key)
				struck := stop()
				if err == nil && !got.Equal(first) {
					c.Errorf("Read: %s, want %s", show(got), show(first))
				}
				if err != nil && !errors.Is(err, rmw.ErrUnavailable) {
					c.Errorf("Read: %v, want ErrUnavailable", err)
				}
				if !struck {
					break
				}
			}
		}
	}
}

func checkCtxAtEachCommand(c *check) {
	for _, kind := range c.kinds() {
		c.eachCommand(kind, endCtx, 20*time.Second, c.wantCanceled)
	}
}

// endCtx is the fault that ctx ends at a command.
func endCtx(cancel context.CancelFunc) Fault { return Fault{Do: cancel} }

func (c *check) wantCanceled(n int, err error, _ time.Duration) {
	if err != nil && !errors.Is(err, context.Canceled) {
		c.Errorf("ctx ended at command %d: %v, want context.Canceled in it", n, err)
	}
}

// lateDelay is how late a command is executed.
const lateDelay = 300 * time.Millisecond

// checkLate puts the value back after the disturbed update, so that a command of
// it that is executed late meets the very value that it expects.
func checkLate(c *check) {
	for _, kind := range c.kinds() {
		key := c.key(kind)
		back := rmw.Value{} // absent
		for n := 1; n <= maxCommands; n++ {
			s, other := c.Open(), c.Open()
			stop := c.Faults.Arm(n, Fault{Kind: Late, Delay: lateDelay})
			_, err := s.Update(c.Ctx, key, adder(kind, "late"))
			c.close(s)
			struck := stop()
			c.update(other, key, to(back))
			c.close(other)
			c.Pass(2 * lateDelay)
			if got, _ := c.stored(key); !errors.Is(err, rmw.ErrOutcomeUnknown) && !got.Equal(back) {
				c.Errorf("command %d was late; Update returned %v, the value was put back, and now it is %s", n, err, show(got))
			}
			c.put(key, back, rmw.NoTTL)
			if !struck {
				break
			}
		}
	}
}

func checkHang(c *check) {
	for _, kind := range c.kinds() {
		c.eachCommand(kind, hang, hangTimeout, c.wantTimeout)
	}
}

// hangTimeout is when the ctx of a call ends whose command hangs.
const hangTimeout = 100 * time.Millisecond

func hang(context.CancelFunc) Fault { return Fault{Kind: Hang} }

func (c *check) wantTimeout(n int, err error, took time.Duration) {
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		c.Errorf("command %d hung: %v, want context.DeadlineExceeded in it", n, err)
	}
	if took > hangTimeout+soon/2 {
		c.Errorf("command %d hung: the call returned %v after it began, its ctx ended after %v", n, took, hangTimeout)
	}
}
