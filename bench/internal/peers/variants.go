package peers

import (
	"time"

	"github.com/unwatch/unwatch/lockupdate"
)

func openUnwatch(o Options) (Impl, error) { return openStore(o, lockupdate.Config{}) }

func openOnDemand(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{LockOnDemand: true})
}

// openSolo measures the wait queue without combining.
func openSolo(o Options) (Impl, error) { return openStore(o, lockupdate.Config{NoCombining: true}) }

// openKeep keeps an idle lock slightly longer than one update takes on the slowest network.
func openKeep(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{Linger: 3 * time.Millisecond})
}

func openMasters(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{MasterReads: true})
}
