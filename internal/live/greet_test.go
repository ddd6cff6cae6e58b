package live

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server may repeat what it was asked, and of AUTH that is the password.
func TestWhatIsSaidOfAUTH(t *testing.T) {
	for text, want := range map[string]string{
		"ERR unknown command 'AUTH', with args beginning with: 'hunter2' ":  "AUTH was refused: ERR unknown command 'AUTH'",
		"ERR unknown command `auth`, with args beginning with: `hunter2`, ": "AUTH was refused: ERR unknown command `auth`",
		"WRONGPASS invalid username-password pair or user is disabled.":     "check the user and the password",
		"ERR odd server, got hunter2, go away":                              "AUTH was refused",
		"ERR max number of clients reached":                                 "it does not let us in: ERR max number",
		"DENIED Redis is running in protected mode because":                 "it does not let us in: DENIED",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.deny["AUTH"] = text
			_, err := Run(t.Context(), []Address{{Host: "redis:6379", Password: "hunter2"}}, Config{Dial: fakes{"redis:6379": f}.dial})
			require.ErrorContains(t, err, want)
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// Who is turned away at the door is not told that this is a proxy.
func TestTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.deny["CLIENT SETNAME"] = "ERR max number of clients reached"
		_, err := tried(t.Context(), fakes{"redis:6379": f}, Config{}, nil)
		require.ErrorContains(t, err, "it does not let us in: ERR max number of clients reached")
	})
}

// A name does not hide who is in the middle of something.
func TestFalseNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.clients = []string{clientLine(9, ownName+"false", "flags=P sub=1 multi=-1 cmd=subscribe")}
		r := ran(t, f, Config{}, nil)
		assert.Equal(t, Findings, r.Verdict)
		assert.Equal(t, 1, found(r, "SUBSCRIBE").Held)
	})
}

// Before 7.4 a list does not show who watches, but who would be refused an EXEC.
func TestDirtyWatch(t *testing.T) {
	assert.Equal(t, []string{"WATCH"}, parseClient("id=1 addr=a:1 flags=d multi=-1 cmd=get").Holds())
}
