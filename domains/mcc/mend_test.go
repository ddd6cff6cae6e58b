package mcc_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// A service knew one status more.
func ExampleConfig_mend() {
	ctx, store := context.Background(), rmwtest.NewMemory()
	_ = store.Set(ctx, "agent:ann", rmw.String(`{"id":"ann","status":"lunch"}`), rmw.NoTTL)

	agents := mcc.New(store, mcc.Config{Mend: lunch})
	a, err := agents.Get(ctx, "ann")
	fmt.Println(a.Status, err)
	// Output:
	// away <nil>
}

func lunch(a *mcc.Agent) {
	if a.Status == "lunch" {
		a.Status = mcc.Away
	}
}

// An agent who is mended is like any other, in every layout.
func TestMend(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		v := rmw.String(`{"id":"a","status":"lunch","x":1}`)
		if b.layout != domains.JSON {
			v = rmw.Hash(map[string]string{"id": "a", "status": "lunch", "x": "1"})
		}
		require.NoError(b, b.target.Direct.Set(b.Context(), "agent:a", v, rmw.NoTTL))
		_, err := b.agents.Get(b.Context(), "a")
		require.ErrorIs(b, err, rmw.ErrUndecodable)
		agents := mcc.New(b.target.Open(), mcc.Config{Layout: b.layout, Mend: lunch})
		_, err = agents.SetMax(b.Context(), "a", b.op(1), 3)
		require.NoError(b, err)
		a, err := b.agents.Get(b.Context(), "a")
		require.NoError(b, err)
		assert.Equal(b, mcc.Away, a.Status)
		assert.Equal(b, 3, a.Max)
	})
}
