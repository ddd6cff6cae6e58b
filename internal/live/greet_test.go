package live

import (
	"testing"

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
		f := newFake()
		f.deny["AUTH"] = text
		_, err := tried(t, fakes{"redis:6379": f}, Config{}, nil, Address{Host: "redis:6379", Password: "hunter2"})
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}

// Before 7.4, CLIENT LIST shows a WATCH only after a watched key was written.
func TestDirtyFlagShowsWatch(t *testing.T) {
	assert.Equal(t, []string{"WATCH"}, parseClient("id=1 addr=a:1 flags=d multi=-1 cmd=get").Holds())
}
