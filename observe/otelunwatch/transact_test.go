package otelunwatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// A Transact is a span and has metrics, with the operation of its first key. The names of its keys are there only if asked for.
func TestTransacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		put := func(_ context.Context, tx *rmw.Tx) error {
			time.Sleep(time.Second)
			tx.Put(rmw.Key{Name: "late\xff"}, rmw.String("x"))
			return nil
		}
		refused := errors.New("refused")
		transact := func(fn rmw.TxFunc) error {
			_, err := rmw.Transact(rmw.WithOperation(t.Context(), "join"), s.telemetry().Updates("m")(rmwtest.NewMemory()), fn,
				rmw.Key{Name: "secret", Label: "room"}, rmw.Key{Name: "other", Label: "member"})
			return err
		}
		require.NoError(t, transact(put))
		require.Same(t, refused, transact(func(context.Context, *rmw.Tx) error { return refused }))
		assert.Panics(t, func() { _ = transact(func(context.Context, *rmw.Tx) error { panic("secret") }) })
		lines, spans := s.ended()
		const operation = "unwatch.operation=room/join unwatch.path=m unwatch.transact."
		assert.Equal(t, []string{
			"unwatch.transact room/join{" + operation + "attempts=1 unwatch.transact.keys=3 unwatch.transact.wait=0} 1s Unset ",
			"unwatch.transact room/join{error.type=fn " + operation +
				"attempts=1 unwatch.transact.keys=2 unwatch.transact.wait=0} 0s Unset ",
			"unwatch.transact room/join{error.type=panic " + operation +
				"attempts=0 unwatch.transact.keys=2 unwatch.transact.wait=0} 0s Error panic",
		}, lines)
		assert.NotContains(t, fmt.Sprintf("%+v", spans), "secret")
		for _, line := range []string{
			"transact.attempts{operation=room/join path=m} 2 2", "transact.duration{operation=room/join path=m} 1 1",
			"transact.duration{error.type=panic operation=room/join path=m} 1 0", "transact.keys{operation=room/join path=m} 3 7",
			"transact.wait{operation=room/join path=m} 2 0",
		} {
			assert.Contains(t, s.metrics(), line)
		}

		s.cfg.Keys = true
		require.NoError(t, transact(put))
		require.Same(t, refused, transact(func(context.Context, *rmw.Tx) error { return refused }))
		lines, _ = s.ended()
		assert.Contains(t, lines[0], `unwatch.keys=["secret","other","late`+"\uFFFD\"]")
		assert.Contains(t, lines[1], `unwatch.keys=["secret","other"]`)
	})
}

// Both middlewares keep the contract of the Store.
func TestContract(t *testing.T) {
	rmwtest.RunFake(t, func(t *testing.T) rmwtest.Target {
		m, trace := rmwtest.NewMemory(), newSDK(t).telemetry().Updates("p")
		return rmwtest.Target{Direct: m, Faults: m, Open: func() rmw.Store { return trace(m) }}
	})
}
