package torture

import (
	"context"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A fault interrupted by the end of its cell has not failed. With deadlines on connections it would at
// times, since these expire a moment before the ctx.
func TestInterruptedFaultIsNoError(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	n := Nemesis{Name: "asking", inject: func(ctx context.Context, _ *injection) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", silent.Addr().String())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if deadline, limited := ctx.Deadline(); limited {
			_ = conn.SetDeadline(deadline)
		}
		defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
		_, err = conn.Read(make([]byte, 1))
		return err
	}}
	for range 200 {
		ctx, stop := during(t.Context(), time.Millisecond)
		require.NoError(t, n.run(ctx, &injection{rng: rand.New(rand.NewPCG(1, 1))}))
		stop()
	}
}
