// Package promunwatch exports metrics of updates and locks to Prometheus.
//
//	metrics, err := promunwatch.New(prometheus.DefaultRegisterer, promunwatch.Config{})
//	...
//	store := lockupdate.New(rdb, lockupdate.Config{Observer: metrics.Locks("redis")})
//	updates := rmw.Chain(store, metrics.Updates("lockupdate"))
//	err = metrics.Stats("lockupdate", store)
//
// docs/observe.md lists the metrics. A label is a path, a lock service, an operation, an outcome or the
// reason of an error; never the name of a key or of a lock, an owner or an address.
//
// The operation is the Label of the Key and the name of [rmw.WithOperation], joined by a slash. A lock has
// no Key, so its operation is that name alone. [Config.MaxOperations] bounds the operations.
package promunwatch
