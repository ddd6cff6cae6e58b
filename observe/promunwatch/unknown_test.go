package promunwatch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/observe/promunwatch"
	"github.com/unwatch/unwatch/rmw"
)

// losing is a Store that loses the reply to the commit of each fn that succeeds.
type losing struct{ rmw.Store }

func (losing) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if _, err := fn(ctx, rmw.Value{}); err != nil {
		return rmw.Result{Attempts: 1}, err
	}
	return rmw.Result{Attempts: 1}, &rmw.Error{Path: "losing", Op: "commit", Key: key.Name, Reason: rmw.ErrOutcomeUnknown}
}

// An unknown outcome is counted by the update that has it, and not by an outer one whose fn returns it.
func TestUnknownOutcomeIsCountedOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := promunwatch.New(registry, promunwatch.Config{})
	require.NoError(t, err)
	store := m.Updates("losing")(losing{})
	_, err = store.Update(t.Context(), rmw.Key{Name: "outer"}, func(ctx context.Context, _ rmw.Value) (rmw.Value, error) {
		_, err := store.Update(ctx, rmw.Key{Name: "inner"}, set("x"))
		return rmw.Value{}, fmt.Errorf("inner update: %w", err)
	})
	require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "unwatch_updates_unknown_total" {
			require.Len(t, family.GetMetric(), 1)
			assert.InDelta(t, 1, family.GetMetric()[0].GetCounter().GetValue(), 0)
			return
		}
	}
	t.Error("there is no such metric")
}
