package peers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/observe/promunwatch"
)

func openUnwatch(o Options) (Impl, error) { return openStore(o, lockupdate.Config{}) }

func openOnDemand(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{LockOnDemand: true})
}

func openInline(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{LockOnDemand: true, WaitForReply: true})
}

// openSolo measures the wait queue without combining.
func openSolo(o Options) (Impl, error) { return openStore(o, lockupdate.Config{NoCombining: true}) }

// openKeep keeps an idle lock slightly longer than one update takes on the slowest network.
func openKeep(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{Linger: 3 * time.Millisecond})
}

// openObserved measures updates and locks for Prometheus.
func openObserved(o Options) (Impl, error) {
	metrics, err := promunwatch.New(prometheus.NewRegistry(), promunwatch.Config{})
	if err != nil {
		return nil, err
	}
	return openStore(o, lockupdate.Config{Observer: metrics.Locks("redis")}, metrics.Updates("lockupdate"))
}

func openMasters(o Options) (Impl, error) {
	return openStore(o, lockupdate.Config{MasterReads: true})
}
