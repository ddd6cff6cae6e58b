package observe

import "github.com/unwatch/unwatch/lockupdate"

// Stats calls tell for each series of the kinds [Total] and [State], with the values of its Attributes.
func Stats(path string, s lockupdate.Stats, tell func(m *Metric, n uint64, values ...string)) {
	tell(LockRenewals, s.Renewed, path, "renewed")
	tell(LockRenewals, s.RenewFailures, path, "failed")
	tell(LockPolls, s.Polled, path)
	tell(CommitConflicts, s.Conflicted, path)
	tell(UpdatesCombined, s.Combined, path)
	open := uint64(0)
	if s.CircuitOpen {
		open = 1
	}
	tell(CircuitOpen, open, path)
}
