// Package older is legacy code over clients of long ago.
package older

import (
	cluster "github.com/chasex/redis-go-cluster"
	radix "github.com/fzzy/radix/redis"
	"github.com/mediocregopher/radix.v2/util"
	redis3 "gopkg.in/redis.v3"
	redis4 "gopkg.in/redis.v4"
)

func v3(c *redis3.Client) {
	tx, _ := c.Watch("k")                // want `WATCH.*MC101`
	tx.Exec(func() error { return nil }) // want `MULTI and EXEC through \(\*redis\.Tx\)\.Exec.*MC102`
	tx.Unwatch()                         // want `UNWATCH.*MC103`
	c.Pipeline().Exec()
}

func v4(c *redis4.Client) {
	c.Watch(func(tx *redis4.Tx) error { // want `WATCH.*MC101`
		_, err := tx.MultiExec(func() error { return nil }) // want `MULTI and EXEC.*MC102`
		return err
	}, "k")
}

func radices(c *radix.Client, u util.Cmder) {
	c.Cmd("multi")        // want `MULTI.*MC103`
	c.Append("exec")      // want `EXEC.*MC103`
	c.Cmd("get", "watch") // a key
	u.Cmd("WATCH", "k")   // want `WATCH.*MC103`
}

func clusters(c *cluster.Cluster) {
	c.Do("MULTI")            // want `MULTI.*MC103`
	c.NewBatch().Put("EXEC") // want `EXEC.*MC103`
	c.Do("GET", "WATCH")
}
