package live

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An error reply may repeat the words of AUTH, and so the password.
func TestAUTHErrorsHideThePassword(t *testing.T) {
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

// A refused connection is not mistaken for a proxy.
func TestRefusedConnectionIsNoProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.deny["CLIENT SETNAME"] = "ERR max number of clients reached"
		_, err := tried(t.Context(), fakes{"redis:6379": f}, Config{}, nil)
		require.ErrorContains(t, err, "it does not let us in: ERR max number of clients reached")
	})
}

// A client with our name is reported if it holds anything.
func TestOwnNameDoesNotHideSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.clients = []string{clientLine(9, ownName+"false", "flags=P sub=1 multi=-1 cmd=subscribe")}
		r := ran(t, f, Config{}, nil)
		assert.Equal(t, Findings, r.Verdict)
		assert.Equal(t, 1, found(r, "SUBSCRIBE").Held)
	})
}

// Before 7.4, CLIENT LIST shows a WATCH only after a watched key was written.
func TestDirtyFlagShowsWatch(t *testing.T) {
	assert.Equal(t, []string{"WATCH"}, parseClient("id=1 addr=a:1 flags=d multi=-1 cmd=get").Holds())
}
