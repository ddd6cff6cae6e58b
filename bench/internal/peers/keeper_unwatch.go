package peers

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/lockupdate"
)

// watchOfUnwatch covers the leases and the timing wheel.
func watchOfUnwatch() []string {
	return []string{"internal/lease.(*Keeper)", "internal/timewheel."}
}

type heldUnwatch struct{ store *lockupdate.Store }

func openHeldUnwatch(o Options, lease time.Duration, sent func(string)) (Keeper, error) {
	cfg := lockupdate.Config{Lease: lease, MaxHold: time.Hour}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &heldUnwatch{lockupdate.New(tapped(o, sent), cfg)}, nil
}

func (h *heldUnwatch) Hold(ctx context.Context, name string) (any, error) {
	return h.store.Lock(ctx, name)
}
