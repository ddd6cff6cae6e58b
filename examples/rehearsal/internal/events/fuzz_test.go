package events_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
)

// FuzzRead: a file has valid events, or the error names the line, and fits into one line.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", `{"room":"7","op":"join","member":"ann"}`, "\ufeff" + `{"room":"7","op":"post","member":"ann","x":1}` + "\r\n",
		`{"room":"","op":"join"}`, `{"room":"7","op":"nothing","member":"a"}`, "[]", `{"room":7}`,
		`{"room":"\u0000","op":"join","member":"\ud800"}`,
		strings.Repeat("x", 70000), `{"room":"` + strings.Repeat("r", 200) + `","op":"join","member":"a"}`, "null", "{\"op\":\"\x1b[2J\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := events.Read(strings.NewReader(string(text)), "file")
		if err != nil {
			var where *events.Error
			require.True(t, errors.As(err, &where))
			require.True(t, strings.HasPrefix(err.Error(), "file:"), err.Error())
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "\x1b", "an error must not steer the terminal")
			require.Less(t, len(err.Error()), 2000)
			return
		}
		require.NotEmpty(t, all)
		for _, e := range all {
			require.Contains(t, events.Ops(), e.Op)
			for _, name := range []string{e.Room, e.Member} {
				require.NotEmpty(t, name)
				require.LessOrEqual(t, len(name), 128)
				require.True(t, utf8.ValidString(name))
			}
			require.False(t, slices.Contains([]byte(e.String()), '\n'))
		}
	})
}
