package proxytest_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// FuzzSession sends arbitrary bytes to a proxy with two clients. It returns well-formed replies, and
// continues to serve the other client.
func FuzzSession(f *testing.F) {
	for _, seed := range []string{
		"PING\r\n", "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$-1\r\n",
		"*1\r\n$4\r\nQUIT\r\n", "*2\r\n$4\r\nEVAL\r\n$1\r\nx\r\n", "*1\r\n$5\r\nMULTI\r\n*1\r\n$4\r\nEXEC\r\n",
		"*1000000\r\n$536870912\r\n",
		"AUTH x\r\nSELECT 99999999999\r\nHELLO 3\r\n", "MGET a b c\r\nDEL a b\r\nMSET a\r\n", "\r\n\r\n*-1\r\n*0\r\n",
		"EVAL return{1,{2}} 1 k\r\n",
		"WATCH k\r\nMULTI\r\nSET k\r\nDISCARD\r\n", "SUBSCRIBE c\r\nPING\r\n", "\x00\xff\r\n",
	} {
		for profile := range uint8(3) {
			f.Add(profile, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		if blocks(in) {
			return
		}
		profiles := []*proxycompat.Profile{proxycompat.Codis32(), proxycompat.Twemproxy05(), proxycompat.Redis()}
		synctest.Test(t, func(t *testing.T) {
			p, _ := start(t, proxytest.Config{Profile: profiles[int(which)%len(profiles)], InMemory: true})
			w := dial(t, p)
			require.NoError(t, w.conn.SetDeadline(time.Now().Add(time.Second)))
			answers := make(chan struct{})
			go func() {
				defer close(answers)
				for {
					reply, err := resp.ReadReply(nil, w.br, resp.Limits{})
					if err != nil {
						require.NotErrorIs(t, err, resp.ErrProtocol, "what came back is no reply")
						return
					}
					require.NotEmpty(t, reply.Kind())
				}
			}()
			_, _ = w.conn.Write(in)
			<-answers
			require.NoError(t, w.conn.Close())
			require.Regexp(t, `^[$-]`, dial(t, p).ask("GET k"), "a value or an error")
		})
	})
}

// blocks reports whether the bytes may contain commands that this test excludes: endless scripts concern
// the in-process server, not the proxy.
func blocks(in []byte) bool {
	upper := bytes.ToUpper(in)
	for _, word := range []string{"WHILE", "FOR", "REPEAT", "GOTO", "REP", "SHUTDOWN", "FUNCTION"} {
		if bytes.Contains(upper, []byte(word)) {
			return true
		}
	}
	return false
}
