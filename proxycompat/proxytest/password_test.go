package proxytest_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// The profile of a server requires the password as a server does.
func TestServerPassword(t *testing.T) {
	for _, name := range []string{"redis", "cluster"} {
		t.Run(name, func(t *testing.T) {
			p, rdb := start(t, proxytest.Config{InMemory: true, Profile: profile(t, name), Password: "pw"})
			require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
			modern := p.Options()
			modern.Protocol = 3 // HELLO 3 AUTH default pw
			three := redis.NewClient(modern)
			defer three.Close()
			assert.Equal(t, "v", three.Get(background, "k").Val())

			w := dial(t, p)
			const none, wrong = "-NOAUTH Authentication required.", "-WRONGPASS invalid username-password pair or user is disabled."
			for _, c := range [][2]string{
				{"GET k", none}, {"MULTI", none}, {"AUTH no", wrong}, {"AUTH other pw", wrong}, {"AUTH default no", wrong},
				{"HELLO 2 AUTH default no", wrong}, {"AUTH a b c", "-ERR syntax error"}, {"GET k", none},
				{"AUTH pw", "+OK"}, {"GET k", "$1|v"}, {"AUTH no", wrong}, {"GET k", "$1|v"},
			} {
				assert.Equal(t, c[1], w.ask(c[0]), c[0])
			}
			assert.Contains(t, dial(t, p).ask("HELLO 2"), "-NOAUTH HELLO must be called")
			w = dial(t, p)
			assert.Equal(t, "+OK", w.ask("AUTH default pw"))
			assert.Equal(t, "$1|v", w.ask("GET k"))
			w = dial(t, p)
			assert.Contains(t, w.ask("HELLO 2 AUTH default pw SETNAME auth"), "proto")
			assert.Equal(t, "$1|v", w.ask("GET k"))
			assert.Equal(t, "+OK", dial(t, p).ask("QUIT"))
		})
	}
	p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile(t, "redis@5.0"), Password: "pw"})
	w := dial(t, p)
	assert.Equal(t, "-ERR wrong number of arguments for 'auth' command", w.ask("AUTH default pw"))
	assert.Equal(t, "-ERR invalid password", w.ask("AUTH no"))
	assert.Equal(t, "+OK", w.ask("AUTH pw"))
	assert.Equal(t, "$-1", w.ask("GET k"))
}
