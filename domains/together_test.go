package domains_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Many processes change one entity, each another part of it, and each operation is sent by two at once: no change is lost,
// none happens twice, and every number is given out once. Hash and HashByVersion may be used on one key.
func TestConcurrentUpdates(t *testing.T) {
	const pairs, each = 4, 4
	for _, layouts := range [][]domains.Layout{
		{domains.JSON}, {domains.Hash}, {domains.HashByVersion}, {domains.Hash, domains.HashByVersion},
	} {
		paths.Each(t, func(t *testing.T, target rmwtest.Target) {
			tickets := newTickets(target.Open(), layouts[0])
			_, err := tickets.Create(t.Context(), "7", opAt("create"), named("7"))
			require.NoError(t, err)
			var wg sync.WaitGroup
			numbers := make([][pairs * each]uint64, 2)
			for i := range 2 * pairs {
				wg.Go(func() {
					repo := newTickets(target.Open(), layouts[i%len(layouts)])
					for j := range each {
						op := i/2*each + j
						_, number, err := repo.Number(t.Context(), "7", opAt(fmt.Sprint(op)), func(n *Ticket) (uint64, error) {
							if n.Parts == nil {
								n.Parts = map[string]Part{}
							}
							n.Parts[fmt.Sprint(op)] = Part{Count: 1}
							return uint64(len(n.Parts)), nil
						})
						assert.NoError(t, err)
						numbers[i%2][op] = number
					}
				})
			}
			wg.Wait()
			require.Equal(t, numbers[0], numbers[1])
			slices.Sort(numbers[0][:])
			for i, number := range numbers[0] {
				require.Equal(t, uint64(i+1), number)
			}
			got, err := tickets.Get(t.Context(), "7")
			require.NoError(t, err)
			assert.Len(t, got.Parts, pairs*each)
			assert.Equal(t, uint64(pairs*each+1), got.Version)
		})
	}
}
