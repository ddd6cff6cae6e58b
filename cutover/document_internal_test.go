package cutover

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// A document is refused, or survives a round trip.
func FuzzStageDocument(f *testing.F) {
	for _, text := range []string{
		`{"version":1,"epoch":3,"stage":"copying","percent":5,"labels":["room"],"freeze":true}`,
		`{"version":2,"epoch":3}`, `{"version":1,"epoch":3,"stage":"complete","percent":101}`, `{"version":1,"epoch":1}`, `{}`, `[]`, ``,
		`{"version":1,"epoch":1,"stage":3}`, `{"version":1,"epoch":1,"Stage":{"epoch":1}}`, `{"version":1,"epoch":1,"labels":[]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stage, err := ParseStage([]byte(text))
		if err != nil {
			require.ErrorIs(t, err, rmw.ErrInvalid)
			return
		}
		require.NoError(t, stage.Validate())
		again, err := ParseStage([]byte(stage.Document()))
		require.NoError(t, err)
		assert.Equal(t, stage.Document(), again.Document())
	})
}

// The document is a contract with other versions, and with files that people write.
func TestStageDocument(t *testing.T) {
	assert.Equal(t, `{"version":1,"epoch":3,"stage":"copying","percent":5,"labels":["room"],"freeze":true}`,
		Stage{Epoch: 3, Phase: Copying, Percent: 5, Labels: []string{"room"}, Freeze: true}.Document())
	assert.Equal(t, `{"version":1,"epoch":1,"stage":"follow","percent":0}`, Stage{Epoch: 1}.Document())
}

// A key that Copying chooses stays chosen as Percent grows.
func TestChosenKeysStayChosen(t *testing.T) {
	const keys = 10_000
	chosen := map[int]int{}
	for i := range keys {
		key, before := rmw.Key{Name: fmt.Sprint("room:", i), Label: "room"}, false
		for percent := range 101 {
			now := Stage{Percent: percent}.chosen(key)
			if before && !now || (Stage{Percent: percent, Labels: []string{"other"}}.chosen(key)) {
				t.Errorf("%s at %d %%", key.Name, percent)
			}
			if before = now; now {
				chosen[percent]++
			}
		}
	}
	assert.Zero(t, chosen[0])
	assert.InDelta(t, keys/4, chosen[25], keys/50)
	assert.Equal(t, keys, chosen[100])
}
