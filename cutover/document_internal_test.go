package cutover

import (
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
		stage, err := decode([]byte(text))
		if err != nil {
			require.ErrorIs(t, err, rmw.ErrInvalid)
			return
		}
		require.NoError(t, stage.Validate())
		again, err := decode([]byte(encode(stage)))
		require.NoError(t, err)
		assert.Equal(t, encode(stage), encode(again))
	})
}

// The document is a contract with other versions, and with files that people write.
func TestStageDocument(t *testing.T) {
	assert.Equal(t, `{"version":1,"epoch":3,"stage":"copying","percent":5,"labels":["room"],"freeze":true}`,
		encode(Stage{Epoch: 3, Phase: Copying, Percent: 5, Labels: []string{"room"}, Freeze: true}))
	assert.Equal(t, `{"version":1,"epoch":1,"stage":"follow","percent":0}`, encode(Stage{Epoch: 1}))
}
