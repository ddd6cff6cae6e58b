package peers

import (
	"time"

	"github.com/unwatch/unwatch/lockupdate"
)

func openUnwatch(o Options) (Impl, error) { return openStore(o, lockupdate.Config{}) }

func openOnDemand(o Options) (Impl, error) { return openStore(o, onDemand(lockupdate.Config{})) }

// onDemand returns cfg for updates that take the lock only while callers contend. The Store
// always takes it, so until then the row shows how far apart two equal rows are.
func onDemand(cfg lockupdate.Config) lockupdate.Config { return cfg }

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
