package live_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/live"
)

// ReadStatic counts a file, or its error names the wrong object.
func FuzzReadStatic(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"rule":"MC101"}{"rule":"MC101"}`, "[]", `{"rule":1}`, `{"rule":"x"}garbage`, "null null",
		strings.Repeat("[", 20000), `{"rule":"` + strings.Repeat("x", 5000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		static, err := live.ReadStatic(strings.NewReader(text))
		if err != nil {
			require.Nil(t, static)
			require.True(t, strings.HasPrefix(err.Error(), "object ") || err.Error() == "this file is empty", err.Error())
			require.Less(t, len(err.Error()), 500)
			return
		}
		n := 0
		for rule, count := range static {
			require.NotEmpty(t, rule)
			n += count
		}
		require.LessOrEqual(t, n, strings.Count(text, "{"))
		(&live.Report{}).Join(static)
	})
}

// No error and no printed address shows the password, at any place.
func FuzzParseAddress(f *testing.F) {
	const secret = "pa55-Sw0rd"
	for _, seed := range []string{
		"redis://user:%s@host:6379/0", "rediss://:%s@host", "redis://%s@host", "%s@host:1", "unix://u:%s@/path",
		"sentinel://u:%s@a:1,b/name",
		"redis://u:%s/x@host:1", "redis://u:%s?@host", "redis://u:%s#@h", "redis://u:p@%s", "http://u:%s@host", "host:1", "/path",
		"redis://[::1", "%s",
	} {
		before, after, _ := strings.Cut(seed, "%s")
		f.Add(before, after)
	}
	f.Add("0:/", "/")
	f.Fuzz(func(t *testing.T, before, after string) {
		a, err := live.ParseAddress(before + secret + after)
		if err != nil {
			if strings.Contains(before, "://") || strings.Contains(before+after, "@") { // otherwise the password is a part of a host
				require.NotContains(t, err.Error(), secret)
			}
			return
		}
		if strings.Contains(a.Password, secret) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				require.NotContains(t, fmt.Sprintf(verb, a), secret)
				require.NotContains(t, fmt.Sprintf(verb, &a), secret)
			}
		}
	})
}
