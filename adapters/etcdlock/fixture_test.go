package etcdlock_test

import (
	"context"
	"encoding/hex"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unwatch/unwatch/adapters/etcdlock"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock/driver"
)

// process is a Locker with a client, a network and a clock of its own.
type process struct {
	*etcdlock.Locker
	contract.Clock

	client  *clientv3.Client
	network contract.Network

	mu       sync.Mutex
	leases   []clientv3.LeaseID
	methods  map[string]int // requests by method
	loses    bool           // replies
	heldBack chan struct{}  // until it is closed; nil: no request is
}

// connect makes a process without a Locker, and connects it to etcd.
func connect(tb testing.TB, members []*servers.Server) *process {
	p := &process{methods: map[string]int{}}
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.Addr)
	}
	dial := p.network.Dialer(new(net.Dialer).DialContext)
	var err error
	p.client, err = clientv3.New(clientv3.Config{
		Endpoints: addrs, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) }),
			grpc.WithConnectParams(grpc.ConnectParams{ // or it waits for a second and more between dials
				Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, MaxDelay: 200 * time.Millisecond},
				MinConnectTimeout: 20 * time.Second,
			}),
			grpc.WithChainUnaryInterceptor(p.unary), grpc.WithChainStreamInterceptor(p.stream),
		},
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = p.client.Close() })
	return p
}

// open starts a Locker.
func open(tb testing.TB, members []*servers.Server, cfg driver.Config) *process {
	p := connect(tb, members)
	p.start(tb, cfg)
	return p
}

func (p *process) start(tb testing.TB, cfg driver.Config) {
	cfg.Now = p.Now
	p.Locker = etcdlock.New(p.client, cfg)
	tb.Cleanup(func() { assert.NoError(tb, p.Close()) })
}

// locked runs do with the mutex.
func (p *process) locked(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

func (p *process) sent(method string) (loses bool, heldBack chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.methods[method]++
	return p.loses, p.heldBack
}

func (p *process) unary(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	loses, heldBack := p.sent(method)
	if heldBack != nil {
		late := make(chan error, 1)
		go func() {
			<-heldBack
			late <- invoke(context.WithoutCancel(ctx), method, req, reply, conn, opts...)
		}()
		select {
		case err := <-late:
			return err
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	err := invoke(ctx, method, req, reply, conn, opts...)
	if granted, ok := reply.(*pb.LeaseGrantResponse); ok && err == nil {
		p.locked(func() { p.leases = append(p.leases, clientv3.LeaseID(granted.ID)) })
	}
	if loses && err == nil {
		return status.Error(codes.Unavailable, "the reply was lost")
	}
	return err
}

func (p *process) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	p.sent(method)
	return streamer(ctx, desc, conn, method, opts...)
}

// count returns the number of requests of methods, or of all.
func (p *process) count(methods ...string) (sum int) {
	p.locked(func() {
		for method, n := range p.methods {
			if len(methods) == 0 || slices.Contains(methods, method) {
				sum += n
			}
		}
	})
	return sum
}

// loseReplies drops the replies to requests, but for those of streams, until restore is called.
func (p *process) loseReplies() (restore func()) {
	p.locked(func() { p.loses = true })
	return func() { p.locked(func() { p.loses = false }) }
}

// late holds back requests, but for streams, until deliver is called.
func (p *process) late() (deliver func()) {
	heldBack := make(chan struct{})
	p.locked(func() { p.heldBack = heldBack })
	return func() {
		p.pass()
		close(heldBack)
	}
}

// pass holds back no further request.
func (p *process) pass() { p.locked(func() { p.heldBack = nil }) }

// expire revokes the leases of the process.
func (p *process) expire(admin *clientv3.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, lease := range p.leases {
		_, _ = admin.Revoke(context.Background(), lease)
	}
	p.leases = nil
}

func folder(name string) string { return etcdlock.Prefix + hex.EncodeToString([]byte(name)) + "/" }

// keys returns the keys of a lock in the order of their creation.
func keys(tb testing.TB, admin *clientv3.Client, name string) []string {
	inOrder := clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)
	resp, err := admin.Get(tb.Context(), folder(name), clientv3.WithPrefix(), inOrder)
	require.NoError(tb, err)
	var found []string
	for _, kv := range resp.Kvs {
		found = append(found, string(kv.Key))
	}
	return found
}

// until waits until ok.
func until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	require.Eventually(tb, ok, 20*time.Second, 5*time.Millisecond, what)
}

func nothing(context.Context) error { return nil }
