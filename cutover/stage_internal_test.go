package cutover

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

// A key that Copying chooses stays chosen as Percent grows.
func TestChosenKeysStayChosen(t *testing.T) {
	const keys = 10_000
	chosen := map[int]int{}
	for i := range keys {
		key, before := rmw.Key{Name: fmt.Sprint("room:", i), Label: "room"}, false
		for percent := range 101 {
			now := Stage{Percent: percent}.chosen(key)
			assert.False(t, before && !now, "%s at %d %%", key.Name, percent)
			assert.False(t, Stage{Percent: percent, Labels: []string{"other"}}.chosen(key))
			if before = now; now {
				chosen[percent]++
			}
		}
	}
	assert.Zero(t, chosen[0])
	assert.InDelta(t, keys/4, chosen[25], keys/50)
	assert.Equal(t, keys, chosen[100])
}
