package peers

import (
	"time"

	"github.com/unwatch/unwatch/lockupdate"
)

func openUnwatch(o Options) (Impl, error) { return openStore(o, lockupdate.Config{}) }

func openOnDemand(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{LockOnDemand: true})
}

// openSolo shows what the queue in the process is worth without combining.
func openSolo(o Options) (Impl, error) { return openStore(o, lockupdate.Config{NoCombining: true}) }

// openKeep keeps an idle lock for a little longer than an update by one goroutine
// takes on the slowest network here.
func openKeep(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{Linger: 3 * time.Millisecond})
}

func openMasters(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{MasterReads: true})
}
