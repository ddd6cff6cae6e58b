package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
)

// rlockWaiter waits for a lock as Redisson's RLock.lock does: it subscribes to the channel of the lock,
// tries, and sleeps until a message arrives or the observed lease has ended.
type rlockWaiter struct {
	rdb    *redis.Client
	lock   string
	asleep chan time.Duration // the observed lease, at each sleep
	woken  []string           // the causes; readable after got is closed
	got    chan struct{}
}

func (w *rlockWaiter) run(t *testing.T) {
	defer close(w.got)
	messages := w.rdb.Subscribe(t.Context(), rlockChannel(w.lock))
	defer func() { assert.NoError(t, messages.Close()) }()
	if _, err := messages.Receive(t.Context()); !assert.NoError(t, err) { // subscribed
		return
	}
	for {
		pttl, err := w.rdb.Eval(t.Context(), rlockAcquire, []string{w.lock}, time.Hour.Milliseconds(), foreigner).Int64()
		if err == redis.Nil { //nolint:errorlint // a reply of go-redis, never wrapped
			return
		}
		if !assert.NoError(t, err) {
			return
		}
		lease := time.Duration(pttl) * time.Millisecond
		w.asleep <- lease
		select {
		case m := <-messages.Channel():
			w.woken = append(w.woken, "message "+m.Payload)
		case <-time.After(lease):
			w.woken = append(w.woken, "end of the lease")
		}
	}
}

// rlockChannel returns the channel of RLock's release messages.
func rlockChannel(lock string) string {
	if !strings.Contains(lock, "{") {
		lock = "{" + lock + "}"
	}
	return "redisson_lock__channel:" + lock
}

// A waiting Redisson client gets the lock at once if the release is published, and otherwise at the end of
// the observed lease.
func TestRedissonIsWoken(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	published := lockupdate.Config{NotifyRedisson: true, Lease: time.Hour}
	for name, tc := range map[string]struct {
		cfg  lockupdate.Config
		want string
	}{
		"published":                    {published, "message 0"},
		"published, {with a hash} tag": {published, "message 0"},
		"negative control":             {lockupdate.Config{Lease: time.Second}, "end of the lease"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := client(t, server.Addr)
			store := lockupdate.New(rdb, tc.cfg)
			defer func() { assert.NoError(t, store.Close()) }()
			l, err := store.Lock(t.Context(), name)
			require.NoError(t, err)
			w := &rlockWaiter{rdb: rdb, lock: "/lock/" + name, asleep: make(chan time.Duration, 100), got: make(chan struct{})}
			go w.run(t)
			<-w.asleep
			require.NoError(t, l.Unlock())
			select {
			case <-w.got:
			case <-time.After(patience):
				t.Fatal("Redisson still waits")
			}
			assert.NotEmpty(t, w.woken)
			for _, by := range w.woken {
				assert.Equal(t, tc.want, by)
			}
			assert.Equal(t, map[string]string{foreigner: "1"}, rdb.HGetAll(t.Context(), w.lock).Val())
		})
	}
}

// Without the right to publish, the release sends no message and succeeds.
func TestNotifyRedissonRights(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	rights := documentedRights(t, "security.md", "lockupdate")
	for name, tc := range map[string]struct {
		more []string
		told bool
	}{
		"with":    {[]string{"+publish", "&redisson_lock__channel:*"}, true},
		"without": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			words := slices.Concat([]string{name}, rights[1:], tc.more)
			store := lockupdate.New(withRights(t, admin, server.Addr, words), lockupdate.Config{NotifyRedisson: true, Lease: time.Hour})
			messages := admin.Subscribe(t.Context(), rlockChannel("/lock/room:"+name))
			defer func() { assert.NoError(t, messages.Close()) }()
			_, err := messages.Receive(t.Context())
			require.NoError(t, err)
			require.NoError(t, store.WithLock(t.Context(), "room:"+name, nothing))
			require.NoError(t, store.Close())
			assert.Zero(t, admin.Exists(t.Context(), "/lock/room:"+name).Val())
			require.NoError(t, admin.Publish(t.Context(), rlockChannel("/lock/room:"+name), "last").Err())
			want := []string{"0", "last"}
			if !tc.told {
				want = want[1:]
			}
			for _, payload := range want {
				m, err := messages.ReceiveMessage(t.Context())
				require.NoError(t, err)
				assert.Equal(t, payload, m.Payload)
			}
		})
	}
}
