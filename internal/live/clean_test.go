package live

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Hostile names of keys, users and modules do not reach the terminal.
func TestHostileNamesDoNotReachTheTerminal(t *testing.T) {
	const evil = "\x1b]0;pwned\a\u009b2J\u202e\xff"
	for name, write := range map[string]func(*Report, io.Writer) error{
		"text": (*Report).WriteText, "json": (*Report).WriteJSON, "prometheus": (*Report).WritePrometheus,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.fields["redis_version"] = "7.0" + evil
			f.clients = []string{clientLine(9, "desk"+evil, "flags=x multi=1 cmd=watch"),
				"id=3 addr=/tmp/" + evil + ":0 name= lib-name=" + evil +
					" user=" + evil + " age=1 idle=0 flags=P sub=1 multi=-1 cmd=x" + evil}
			r := ran(t, f, Config{Strict: true, Monitor: &MonitorConfig{ShowKeys: true}}, at(2, func() {
				f.use("WATCH", 1)
				f.use("FT."+strings.ReplaceAll(evil, "\n", ""), 3)
				f.do(func() {
					f.deny["CLIENT LIST"] = "NOPERM " + evil
					f.fields["role"], f.fields["master_host"] = "slave", evil
					f.log = []Denied{{ID: 2, Count: 4, Reason: "command", Context: evil, Object: "watch", Username: evil}}
				})
				f.show(`[0 10.0.0.7:`+evil+`] "SINTER" "tag:\x1b[2J\xff\n17" "user:\x07\xc2\x9b18"`, `[0 x`+evil+`] "WATCH" "k"`)
			}))
			assert.NotNil(t, found(r, "SINTER"), "control")
			var out strings.Builder
			require.NoError(t, write(r, &out))
			assert.True(t, utf8.ValidString(out.String()))
			for _, c := range out.String() {
				if c != '\n' && !unicode.IsPrint(c) {
					t.Errorf("%s: %U in\n%q", name, c, out.String())
					break
				}
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fields["role"], f.fields["master_host"] = "slave", evil
		_, err := tried(t.Context(), fakes{"redis:6379": f}, Config{}, nil)
		require.ErrorContains(t, err, "this is a replica")
		assert.NotContains(t, err.Error(), "\x1b")
	})
}
