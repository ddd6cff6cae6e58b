package redisx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// FuzzErrorReply: every error reply has an outcome and a reason, and its quoted arguments are removed.
func FuzzErrorReply(f *testing.F) {
	for _, j := range replies() {
		f.Add(j.err.Error())
	}
	f.Add("")
	f.Add("ERR ")
	f.Add(", with args beginning with")
	f.Add("EXECABORT Transaction discarded because of: EXECABORT Transaction discarded because of: ")
	f.Fuzz(func(t *testing.T, text string) {
		const secret = "0a1b2c3d4e5f"
		err := reply(text + ", with args beginning with: '" + secret + "' ")
		require.NotEqual(t, redisx.Done, redisx.OutcomeOf(err))
		require.NotNil(t, redisx.Reason(err))
		failed := redisx.Fail("cas", "exec", rmw.Key{Name: "k"}, 1, err)
		for _, verb := range []string{"%v", "%+v", "%#v"} {
			require.NotContains(t, fmt.Sprintf(verb, failed), secret)
		}
		short := redisx.WithoutArguments(err)
		require.ErrorIs(t, short, err)
		require.Equal(t, short.Error(), redisx.WithoutArguments(short).Error())
	})
}
