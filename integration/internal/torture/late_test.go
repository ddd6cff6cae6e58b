package torture

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A write is late if its holder was not seen to hold the lock since another one that wrote had entered.
func TestLate(t *testing.T) {
	// Each holder writes with its token, in this order, after it was seen to hold the lock from enter to held.
	type holder struct {
		enter, held time.Duration
		token       uint64
		orders      []int
	}
	for name, test := range map[string]struct {
		unfenced     bool
		all          []holder
		late, passed int
	}{
		"one after the other":             {false, []holder{{1, 3, 7, []int{1, 2}}, {4, 6, 8, []int{3}}}, 0, 0},
		"after the next one":              {false, []holder{{1, 3, 7, []int{1, 3}}, {4, 6, 8, []int{2}}}, 1, 0},
		"before the next one writes":      {false, []holder{{1, 3, 7, []int{2}}, {4, 6, 8, []int{3}}}, 0, 0},
		"twice":                           {false, []holder{{1, 3, 7, []int{2, 3}}, {4, 6, 8, []int{1}}}, 2, 0},
		"while it was seen to hold it":    {false, []holder{{1, 9, 7, []int{1, 3}}, {4, 6, 8, []int{2}}}, 0, 0},
		"without a check":                 {true, []holder{{1, 3, 7, []int{1, 3}}, {4, 6, 8, []int{2}}}, 1, 1},
		"with a token that did not grow":  {false, []holder{{1, 3, 8, []int{1, 3}}, {4, 6, 8, []int{2}}}, 1, 1},
		"of a lock that has no token":     {false, []holder{{1, 3, 0, []int{1, 3}}, {4, 6, 0, []int{2}}}, 1, 0},
		"of one that never was in before": {false, []holder{{5, 0, 7, []int{2}}, {4, 6, 8, []int{1}}}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sections := make([]Section, len(test.all))
			store := newExternal(test.unfenced)
			for order := 1; order <= 9; order++ {
				for i, h := range test.all {
					s := &sections[i]
					s.Names, s.Enter, s.Held, s.Token = []string{"a"}, h.enter, h.held, h.token
					for _, at := range h.orders {
						if at == order {
							s.Writes = append(s.Writes, store.put("a", h.token))
						}
					}
				}
			}
			var got Verdict
			got.late(sections)
			assert.Equal(t, test.late, got.Late)
			assert.Equal(t, test.passed, got.Passed)
		})
	}
}
