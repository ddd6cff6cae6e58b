package domains_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Two members with names of invalid UTF-8 must not become one.
func TestInvalidUTF8IsUndecodable(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		ok   bool
	}{
		"Latin-1":            {"jos\xe9", "jos\xe8", false},
		"halves of a pair":   {`jos\ud800`, `jos\udc00`, false},
		"a pair, turned":     {`x\udc00\ud800`, `y`, false},
		"a half, then text":  {`x\ud800abcdef`, `y`, false},
		"a pair":             {`x\ud83d\ude00`, `y`, true},
		"a backslash before": {`x\\\\ud800`, `y`, true},
		"an escaped text":    {`x\u00e9`, `y`, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := rmwtest.NewMemory()
			text := `{"id":"7","status":"open","owner_id":"o","members":{"o":{},"` + tc.a + `":{},"` + tc.b + `":{}}}`
			require.NoError(t, m.Set(t.Context(), "chat:room:7", rmw.String(text), rmw.NoTTL))
			rooms := chat.New(m, chat.Config{})
			room, err := rooms.Touch(t.Context(), "7", domains.NewOp(now))
			if tc.ok {
				require.NoError(t, err)
				assert.Len(t, room.Members, 3)
				return
			}
			require.ErrorIs(t, err, rmw.ErrUndecodable)
			v, _, err := m.Get(context.Background(), "chat:room:7")
			require.NoError(t, err)
			assert.Equal(t, text, v.Text())
		})
	}
}
