package proxytest_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func TestTwemproxyClosesWithoutAWord(t *testing.T) {
	p, rdb := start(t, proxytest.Config{Profile: twemproxy()})
	w := dial(t, p)
	w.send("INCR n", "TIME", "INCR n")
	assert.Equal(t, "EOF", w.reply(), "even the first reply is lost")
	assert.Equal(t, "1", rdb.Get(background, "n").Val(), "but the command was executed")

	for _, command := range []string{"watch k", "multi", "script load x", "hello 3", "select 0", "client id",
		"get a b", "ping x", "eval return 0", "nosuchcommand", "auth u p"} {
		assert.Equal(t, "EOF", dial(t, p).ask(command), command)
	}
	w = dial(t, p)
	assert.Equal(t, "+PONG", w.ask("ping"))
	assert.Equal(t, "EOF", w.ask("quit"))
}

func TestTwemproxyNeedsTheHelloDialer(t *testing.T) {
	p, rdb := start(t, proxytest.Config{Profile: twemproxy(), Engines: 2})
	plain := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, DialerRetries: 1})
	defer plain.Close()
	require.Error(t, plain.Get(background, "k").Err(), "HELLO closes the connection")
	plainTwo := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	defer plainTwo.Close()
	require.Error(t, plainTwo.Get(background, "k").Err(), "and no option helps")

	require.NoError(t, rdb.MSet(background, "a", "1", "b", "2").Err())
	assert.EqualValues(t, 2, rdb.Unlink(background, "a", "b").Val())

	hooked := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1})
	hooked.AddHook(proxycompat.Hook(twemproxy()))
	defer hooked.Close()
	require.NoError(t, hooked.Set(background, "k", "v", 0).Err(), "the hook alone does, even with default options")
}

func TestTwemproxyPassword(t *testing.T) {
	_, rdb := start(t, proxytest.Config{Profile: twemproxy(), Password: "pw"})
	require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
}

func TestTwemproxyRetryExecutesAPipelineAgain(t *testing.T) {
	_, rdb := start(t, proxytest.Config{Profile: twemproxy()})
	opt := *rdb.Options()
	opt.MaxRetries = 3
	opt.MinRetryBackoff, opt.MaxRetryBackoff = -1, -1
	retrying := redis.NewClient(&opt)
	defer retrying.Close()
	_, err := retrying.Pipelined(background, func(pipe redis.Pipeliner) error {
		pipe.Incr(background, "n")
		pipe.Time(background)
		return nil
	})
	require.Error(t, err)
	assert.Equal(t, "4", rdb.Get(background, "n").Val())
}

func TestTwemproxyBackendDown(t *testing.T) {
	p, rdb := start(t, proxytest.Config{Profile: twemproxy()})
	require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
	p.Down(0)
	require.ErrorContains(t, rdb.Get(background, "k").Err(), "ERR Connection reset by peer")
	require.ErrorContains(t, rdb.Get(background, "k").Err(), "ERR Connection refused")
}

func TestRedisDefaultClientAndPubSub(t *testing.T) {
	p, _ := start(t, proxytest.Config{Profile: proxycompat.Redis()})
	rdb := redis.NewClient(&redis.Options{Addr: p.Addr()}) // RESP3
	defer rdb.Close()
	require.NoError(t, rdb.HSet(background, "h", "f", "v").Err())
	assert.Equal(t, map[string]string{"f": "v"}, rdb.HGetAll(background, "h").Val())

	sub := rdb.Subscribe(background, "news")
	defer sub.Close()
	_, err := sub.Receive(background)
	require.NoError(t, err)
	require.NoError(t, rdb.Publish(background, "news", "hello").Err())
	msg, err := sub.ReceiveMessage(background)
	require.NoError(t, err)
	assert.Equal(t, "hello", msg.Payload)
}

func TestRedisHasOneServer(t *testing.T) {
	_, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), Engines: 2})
	require.ErrorContains(t, err, "exactly one server")
}

func TestCloseLeavesNothing(t *testing.T) {
	for _, name := range proxycompat.Names() {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		p, err := proxytest.Start(proxytest.Config{Profile: profile})
		require.NoError(t, err)
		p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.HangReply, Times: -1})
		rdb := redis.NewClient(p.Options())
		require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
		hanging := make(chan error)
		go func() { hanging <- rdb.Get(background, "k").Err() }()
		w := dial(t, p)
		assert.Equal(t, "+PONG", w.ask("ping"))
		require.NoError(t, p.Close())
		require.NoError(t, p.Close(), "again")
		require.Error(t, <-hanging)
		_, err = p.Dial(background, "", "")
		require.Error(t, err)
		require.NoError(t, rdb.Close())
	}
	assert.Zero(t, goroutinesOf())
}
