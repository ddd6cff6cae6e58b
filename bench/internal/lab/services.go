package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/worker"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// services starts the lock services. All flush a grant to the disk before they answer, except the single Redis.
func (l *Lab) services(ctx context.Context, p *Path) error {
	direct, err := l.Path(ctx, Loopback)
	if err != nil {
		return err
	}
	p.Addr, p.pids = direct.Addr, append(p.pids, direct.pids...)
	p.addrs = map[string]string{"lock-sqlite": filepath.Join(l.dir, "locks.sqlite")}
	one := func(
		start func(context.Context, string, ...string) (*servers.Server, error), options ...string,
	) func() ([]*servers.Server, error) {
		return func() ([]*servers.Server, error) {
			s, err := start(ctx, l.dir, options...)
			return []*servers.Server{s}, err
		}
	}
	for _, s := range []struct {
		impl  string
		count int
		start func() ([]*servers.Server, error)
	}{
		{"lock-redlock", 3, one(servers.StartRedis, "--appendonly", "yes", "--appendfsync", "always")},
		{"lock-etcd", 1, func() ([]*servers.Server, error) { return servers.StartEtcd(ctx, l.dir, 1) }},
		{"lock-zookeeper", 1, func() ([]*servers.Server, error) { return servers.StartZooKeeper(ctx, l.dir, 1, "forceSync=yes") }},
		{"lock-postgresql", 1, one(servers.StartPostgres, "fsync=on")},
		{"lock-mariadb", 1, one(servers.StartMariaDB, "--innodb-flush-log-at-trx-commit=1")},
	} {
		var addrs []string
		for range s.count {
			started, err := s.start()
			if err != nil {
				return err
			}
			l.all = append(l.all, started...)
			p.pids = append(p.pids, started[0].PID())
			addrs = append(addrs, started[0].Addr)
		}
		p.addrs[s.impl] = strings.Join(addrs, ",")
	}
	p.Dir, err = os.MkdirTemp(l.dir, "sections-")
	return err
}

// newDir replaces the folder of the sections' files. Its name is part of the locks' names, so that no slot waits
// for a lock of the one before.
func (p *Path) newDir() error {
	if err := os.RemoveAll(p.Dir); err != nil {
		return err
	}
	var err error
	p.Dir, err = os.MkdirTemp(filepath.Dir(p.Dir), "sections-")
	return err
}

// storedInFiles returns the sum of the counters in the files of these keys.
func (p *Path) storedInFiles(keys []string) (int64, error) {
	var sum int64
	for _, key := range keys {
		doc, err := peers.Document(p.Dir, key)
		if err != nil {
			return 0, err
		}
		n, err := worker.Count(doc)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
