package proxytest_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// A failed link loses watches and queued commands, so the client is disconnected: otherwise it would write
// unwatched.
func TestTransactionLosesItsBackend(t *testing.T) {
	for _, name := range []string{"predixy-single", "redis-cluster-proxy", "alibaba"} {
		for _, said := range []string{"", "GET k", "MULTI", "MULTI;SET k mine", "MULTI;SET k mine;SET k mine"} {
			t.Run(name+" "+said, func(t *testing.T) {
				p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile(t, name)})
				w, other := dial(t, p), dial(t, p)
				assert.Equal(t, "+OK", w.ask("WATCH k"))
				if strings.HasPrefix(said, "MULTI") {
					assert.Equal(t, "+OK", w.ask("MULTI"))
				}
				p.Down(0)
				p.Up(0)
				assert.Equal(t, "+OK", other.ask("SET k theirs"))
				for command := range strings.SplitSeq(strings.TrimPrefix(said, "MULTI")+";EXEC", ";") {
					if command != "" {
						assert.Equal(t, "EOF", w.ask(command), command)
						break
					}
				}
				assert.Equal(t, "$6|theirs", other.ask("GET k"))
			})
		}
	}
}

func TestTransactionWithoutABackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile(t, "alibaba")})
		w, other := dial(t, p), dial(t, p)
		p.Down(0)
		assert.Equal(t, "-ERR Connection refused", w.ask("WATCH k"), "nothing is watched")
		assert.Equal(t, "+OK", w.ask("MULTI"))
		assert.Equal(t, "-ERR WATCH inside MULTI is not allowed", w.ask("WATCH k"))
		assert.Equal(t, "EOF", w.ask("SET k 1"), "nothing can be queued")
		p.Up(0)
		w = dial(t, p)
		assert.Equal(t, "+OK", w.ask("MULTI"))
		assert.Equal(t, "+QUEUED", w.ask("SET k 1"))
		p.Sleep(0)
		assert.Equal(t, "EOF", w.ask("SET k 2"))
		p.Wake(0)
		synctest.Wait()
		assert.Equal(t, "$-1", other.ask("GET k"), "what was queued is lost, and not executed alone")

		assert.Equal(t, "+OK", other.ask("WATCH k"))
		assert.Equal(t, "-ERR SELECT in a transaction", other.ask("SELECT 1"))
		assert.Equal(t, "EOF", other.reply())
	})
}
