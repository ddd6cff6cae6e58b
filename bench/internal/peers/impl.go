package peers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// Impl is one way to update a key. It is safe for concurrent use.
type Impl interface {
	// Update stores the result of fn, which gets the stored value, or nil for an absent
	// key. A nil error means that the result is stored. fn may be called again.
	Update(ctx context.Context, key string, fn func(old []byte) ([]byte, error)) error
	// Retries returns the number of retries so far, or -1 if the library hides them.
	Retries() int64
	Close() error
}

// Options configure the connection of an Impl.
type Options struct {
	Addr string
	// Proxy means that Addr is a twemproxy, which closes the connection at some handshake
	// commands.
	Proxy bool
	// Commands counts the commands to Addr, if it is not nil.
	Commands *atomic.Int64
	// Dir has the files that sections update. Only lock services use it, and they need Commands.
	Dir string
}

// entry is one implementation.
type entry struct {
	name string
	what string
	open func(Options) (Impl, error)
}

// table lists the implementations in the order of the reports. A plus or a dash in a name starts a
// setting. "-t" means tuned: 1 to 5 ms of jitter.
func table() []entry {
	return []entry{
		{"watch", "go-redis WATCH, retried at once, as its documentation shows", openWatch(nil)},
		{"watch+bo", "the same with full-jitter backoff, 0.5 to 32 ms", openWatch(fullJitter)},
		{"redsync", "redsync as it comes: 50 to 250 ms between tries", openRedsync(nil)},
		{"redsync-t", "redsync with 1 to 5 ms between tries", openRedsync(shortJitter)},
		{"redislock", "bsm/redislock as its README shows: 100 ms between tries", openRedislock(hundred)},
		{"redislock-t", "bsm/redislock with 1 to 5 ms between tries", openRedislock(shortJitter)},
		{"rueidislock", "rueidislock, KeyMajority 1, woken by client-side caching", openRueidislock(false)},
		{"rueidislock-nocsc", "rueidislock, KeyMajority 1, without client-side caching", openRueidislock(true)},
		{"unwatch", "lockupdate as it comes", openUnwatch},
		{"unwatch-ondemand", "lockupdate with Config.LockOnDemand", openOnDemand},
		{"unwatch-inline", "lockupdate with Config.LockOnDemand and Config.WaitForReply", openInline},
		{"unwatch-solo", "lockupdate with Config.NoCombining", openSolo},
		{"unwatch-keep", "lockupdate with Config.Linger of 3 ms", openKeep},
		{"unwatch-observed", "lockupdate with the metrics of observe/promunwatch", openObserved},
		{"unwatch-get", "lockupdate with Config.MasterReads, where nothing reads from replicas", openMasters},
		{"lock-redis", "a section under a lock of lockupdate, one Redis", openSection(openRedisLock)},
		{"lock-redlock", "of lockupdate/redlock, three Redis", openSection(openRedlock)},
		{"lock-etcd", "of adapters/etcdlock, one member", openSection(openEtcdLock)},
		{"lock-zookeeper", "of adapters/zklock, one member", openSection(openZooKeeperLock)},
		{"lock-postgresql", "of adapters/sqllock", openSection(openPostgreSQLLock)},
		{"lock-mariadb", "of adapters/sqllock, interpolateParams=true", openSection(openMariaDBLock)},
		{"lock-sqlite", "of adapters/sqllock, a file in WAL mode", openSection(openSQLiteLock)},
	}
}

// Names returns the names of all implementations.
func Names() []string {
	var names []string
	for _, e := range table() {
		names = append(names, e.name)
	}
	return names
}

// What returns a description of an implementation in one line.
func What(name string) string {
	i := slices.IndexFunc(table(), func(e entry) bool { return e.name == name })
	if i < 0 {
		return ""
	}
	return table()[i].what
}

// Ours reports whether the name is one of this project.
func Ours(name string) bool { return strings.HasPrefix(name, "unwatch") || LockService(name) }

// LockService reports whether the name is one of a Locker of this project.
func LockService(name string) bool { return strings.HasPrefix(name, "lock-") }

// Open connects an implementation.
func Open(name string, o Options) (Impl, error) {
	for _, e := range table() {
		if e.name == name {
			return e.open(o)
		}
	}
	return nil, fmt.Errorf("no implementation %q; there are %q", name, Names())
}

// counter counts retries. An Impl that reports retries embeds it.
type counter struct{ n atomic.Int64 }

func (c *counter) Retries() int64 { return c.n.Load() }

// unseen is embedded by an Impl that cannot report retries.
type unseen struct{}

func (unseen) Retries() int64 { return -1 }
