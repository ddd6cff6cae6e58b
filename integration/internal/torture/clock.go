package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// step is the size of a wall clock step.
const step = time.Hour

// stepClock steps the wall clock of this process forward or back until ctx ends. It returns an error if the clock does
// not step, since the cell proves nothing then.
func stepClock(ctx context.Context, rng *rand.Rand, note func(text string)) error {
	for {
		by := step
		if rng.IntN(2) == 0 {
			by = -step
		}
		before := time.Now()
		stepWall(int64(by / time.Second))
		after := time.Now()
		wall, monotonic := after.Round(0).Sub(before.Round(0)), after.Sub(before)
		if max((wall-by).Abs(), monotonic.Abs()) > step/2 {
			return fmt.Errorf("a wall clock stepped by %v instead of %v, and the monotonic clock by %v", wall, by, monotonic)
		}
		note(fmt.Sprintf("the wall clock of process %d steps by %v", os.Getpid(), by))
		if pause(ctx, within(rng, 80*time.Millisecond, 240*time.Millisecond)) != nil {
			return nil
		}
	}
}
