package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each order is in one queue; a second click is served by another worker, and by
// another process where there is one.
func TestQueues(t *testing.T) {
	for _, p := range []plan{{1, 400, 3, 8}, {2, 10, 1, 2}, {3, 10, 2, 1}, {4, 50, 16, 64}, {5, 11, 3, 5}} {
		orders := p.orders()
		require.Len(t, orders, demand*p.Stock)
		worker := map[int][2]int{}
		for process := range p.Processes {
			for w := range p.Workers {
				for _, o := range p.queue(process, w) {
					require.NotContains(t, worker, o.No, "in two queues")
					require.Equal(t, orders[o.No], o)
					require.Equal(t, process, p.processOf(o.No))
					worker[o.No] = [2]int{process, w}
				}
			}
		}
		require.Len(t, worker, len(orders))
		clicked := 0
		for no, o := range orders {
			if o.Buyer == no {
				continue
			}
			clicked++
			require.Equal(t, no-1, o.Buyer)
			require.NotEqual(t, worker[no-1], worker[no])
			if p.Processes > 1 {
				require.NotEqual(t, worker[no-1][0], worker[no][0])
			}
		}
		require.Equal(t, clicked, p.clickedTwice())
		require.LessOrEqual(t, 2*clicked, len(orders)*2/3, "there are buyers enough to sell all")
	}
	assert.Equal(t, plan{1, 400, 3, 8}.orders(), plan{1, 400, 6, 4}.orders())
	assert.NotEqual(t, plan{1, 400, 3, 8}.orders(), plan{2, 400, 3, 8}.orders())
}

func TestPauseEndsWithItsContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	require.ErrorIs(t, pause(ctx, 1<<62), why)
	require.NoError(t, pause(context.Background(), 1))
}
