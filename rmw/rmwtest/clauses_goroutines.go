package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// checkGoroutinesEnd repeats calls that end in each way. It fails if each of several phases
// leaves as many goroutines as it has calls of one kind. A Store may keep a fixed number, as
// for connections, and may make those at any time. A goroutine inherits its profiler labels.
func checkGoroutinesEnd(c *check) {
	const phases, calls = 4, 20
	key := c.key(rmw.KindString)
	pprof.Do(c.Ctx, pprof.Labels("rmwtest", key.Name), func(ctx context.Context) {
		s := c.Open()
		c.callInEachWay(ctx, s, key)
		for range phases {
			before, _ := goroutinesOf(key.Name)
			for range calls {
				c.callInEachWay(ctx, s, key)
			}
			if fewerGoroutines(key.Name, before+calls) {
				return
			}
		}
		now, most := goroutinesOf(key.Name)
		c.Errorf("%d goroutines are left %v after the last of %d calls of each kind, most of them here:\n%s",
			now, goroutinesLinger, phases*calls, most)
	})
}

// goroutinesLinger bounds the time that a goroutine may take to end after its call.
const goroutinesLinger = soon / 4

// fewerGoroutines waits until fewer than n goroutines have the label, and reports whether
// that came.
func fewerGoroutines(label string, n int) bool {
	limit := time.After(goroutinesLinger)
	for {
		if now, _ := goroutinesOf(label); now < n {
			return true
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			return false
		}
	}
}

// callInEachWay makes one call for each way in which a call can end.
func (c *check) callInEachWay(ctx context.Context, s rmw.Store, key rmw.Key) {
	refusal := errors.New("refused")
	if _, err := s.Read(ctx, key); err != nil {
		c.Errorf("Read: %v", err)
	}
	update := func(want error, fn rmw.UpdateFunc) {
		if _, err := s.Update(ctx, key, fn); !errors.Is(err, want) {
			c.Errorf("Update: %v, want %v", err, want)
		}
	}
	update(nil, to(rmw.String("a")))
	update(nil, to(rmw.String("b")))
	update(nil, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil })
	update(refusal, func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, refusal })
	func() {
		defer func() { _ = recover() }()
		update(nil, func(context.Context, rmw.Value) (rmw.Value, error) { panic("boom") })
	}()
	waited := false
	update(nil, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if !waited { // else the inner one did not have to wait
			waited = true
			short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			_, _ = s.Update(short, key, to(rmw.String("c")))
		}
		return cur, nil
	})
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, err := s.Update(ending, key, func(context.Context, rmw.Value) (rmw.Value, error) {
		cancel()
		return rmw.String("d"), nil
	}); !errors.Is(err, context.Canceled) {
		c.Errorf("Update: %v, want context.Canceled", err)
	}
}

// goroutinesOf returns how many goroutines have the label, and the stack that most of them
// share.
func goroutinesOf(label string) (n int, most string) {
	var profile strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1) // a Builder takes all
	quoted := fmt.Sprintf("%q", label)
	top := 0
	_, records, _ := strings.Cut(profile.String(), "\n") // the total
	for record := range strings.SplitSeq(records, "\n\n") {
		var same int
		if _, err := fmt.Sscanf(record, "%d @", &same); err != nil || !strings.Contains(record, quoted) {
			continue
		}
		n += same
		if same > top {
			top, most = same, record
		}
	}
	return n, most
}
