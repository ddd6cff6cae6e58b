package peers

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/unwatch/unwatch/proxycompat"
)

// rueidislocks reads and writes over rueidis too, as its users do.
type rueidislocks struct {
	unseen
	locks rueidislock.Locker
}

func openRueidislock(nocsc bool) func(Options) (Impl, error) {
	return func(o Options) (Impl, error) {
		locks, err := rueidislock.NewLocker(RueidislockOptions(o, nocsc))
		if err != nil {
			return nil, err
		}
		return &rueidislocks{locks: locks}, nil
	}
}

// RueidislockOptions returns the options of its own benchmark, including NOLOOP. A proxy would
// close the connection at HELLO, so the dialer answers it, as for go-redis.
//
// An attempt that gets no reply within TryNextAfter, by default 20 ms, waits for a release by
// another client. With NOLOOP none is announced if only this client has the lock, so the wait
// never ends. Without tracking, TryNextAfter is the interval of polls, too.
func RueidislockOptions(o Options, nocsc bool) rueidislock.LockerOption {
	options := rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress:       []string{o.Addr},
			ForceSingleClient: true,
			DisableCache:      nocsc,
			AlwaysRESP2:       o.Proxy,
			ClientSetInfo:     rueidis.DisableClientSetInfo,
		},
		KeyMajority:    1,
		KeyValidity:    lease,
		NoLoopTracking: true,
	}
	if !nocsc {
		options.TryNextAfter = lease
	}
	options.ClientOption.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		dial := d.DialContext
		if o.Proxy {
			dial = proxycompat.HelloDialer(nil)
		}
		return counting(o.Commands, dial)(ctx, "tcp", addr)
	}
	return options
}

func (r *rueidislocks) Update(ctx context.Context, key string, fn func([]byte) ([]byte, error)) error {
	lockCtx, release, err := r.locks.WithContext(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	c := r.locks.Client()
	old, err := c.Do(lockCtx, c.B().Get().Key(key).Build()).AsBytes()
	if rueidis.IsRedisNil(err) {
		old, err = nil, nil
	}
	if err != nil {
		return err
	}
	next, err := fn(old)
	if err != nil {
		return err
	}
	return c.Do(lockCtx, c.B().Set().Key(key).Value(rueidis.BinaryString(next)).Build()).Error()
}

func (r *rueidislocks) Close() error {
	r.locks.Close()
	return nil
}
