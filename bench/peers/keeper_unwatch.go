package peers

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/lockupdate"
)

// watchOfUnwatch counts the leases in full.
func watchOfUnwatch() []string {
	return []string{"internal/lease.(*Keeper)", "internal/timewheel."}
}

// heldUnwatch holds locks by their handles.
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
