//go:build ignore

package store

import (
	"context"
	"os/exec"

	"github.com/fsnotify/fsnotify"
	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
)

type Bus interface {
	Publish(topic string) error
	Subscribe(topic string) error
}

type Decoys struct {
	nc   *nats.Conn
	etcd *clientv3.Client
	rdb  *redis.Client
	bus  Bus
}

const text = `s.rdb.Watch(ctx, nil) "`

func (s *Decoys) run(ctx context.Context, bus Bus, watcher *fsnotify.Watcher, m map[string]int) {
	// s.rdb.TxPipeline()
	/* s.rdb.Publish(ctx, "a", "b") */
	s.nc.Publish("a", nil)
	s.nc.Subscribe("a", nil)
	s.etcd.Watch(ctx, "a")
	s.etcd.Do(ctx, "WATCH")
	s.bus.Publish("a")
	bus.Subscribe("a")
	watcher.Watch("a")
	exec.Command("ls").Run()
	s.rdb.Get(ctx, "a")
	s.rdb.Set(ctx, "MULTI", "WATCH", 0)
	s.rdb.HKeys(ctx, "a")
	s.rdb.HScan(ctx, "a", 0, "", 0)
	pipe := s.rdb.Pipeline()
	pipe.Exec(ctx)
	db.Exec("MULTI")
	log.Println("s.rdb.Keys", 'a')
	informer.Watch(ctx)
}

func shadow(rdb *nats.Conn) {
	rdb.Publish("a", nil)
	rdb.Subscribe("a", nil)
}
