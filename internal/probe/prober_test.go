package probe

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
)

// A closed connection is dialled again, up to a limit.
func TestRedialsEnd(t *testing.T) {
	dialled := 0
	dial := func(context.Context, string, string) (net.Conn, error) {
		dialled++
		client, server := net.Pipe()
		go func() {
			_, _ = server.Read(make([]byte, 1024))
			_ = server.Close()
		}()
		return client, nil
	}
	p := &prober{addr: "h:1", cfg: Config{Timeout: 5 * time.Second, Dial: dial}, keys: newKeyring("prefix:"), report: &Report{}}
	_, outcome, err := p.do(t.Context(), []string{"GET", "k"})
	require.NoError(t, err)
	assert.Equal(t, Closes, outcome)
	assert.Equal(t, 1, dialled)
	assert.Equal(t, 1, p.closed)

	p.closed = maxClosed - 1
	_, _, err = p.do(t.Context(), []string{"GET", "k"})
	var failed *ConnectError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, HangsUp, failed.Reason)
	assert.Contains(t, err.Error(), "it closed 1000 connections, after 2 connections and 2 commands")
}

func TestAddressErrorsShowNoPassword(t *testing.T) {
	err := checkAddr("redis://u:hunter2@h:6379")
	require.ErrorContains(t, err, `"h:6379": this is a URL`)
	assert.NotContains(t, err.Error(), "hunter2")
}

// Envoy answers ROLE with an array of its servers' replies.
func TestSaysServer(t *testing.T) {
	for role, want := range map[string]bool{
		"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n":                 true,
		"*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n+x\r\n:0\r\n": true,
		"*1\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n":           false,
		"*0\r\n":                          false,
		"$6\r\nmaster\r\n":                false,
		"-ERR unknown command `ROLE`\r\n": false,
		"":                                false,
	} {
		assert.Equal(t, want, saysServer(resp.Reply(role)), role)
	}
}
