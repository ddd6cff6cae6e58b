// Package clients makes clients, in all libraries.
package clients

import (
	"context"
	"net"

	redigo "github.com/gomodule/redigo/redis"
	radix3 "github.com/mediocregopher/radix/v3"
	"github.com/mediocregopher/radix/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

type options struct {
	ClientName string
	DB         int
	Addrs      []string
}

func NewClusterClient(o *options) *options { return o }

func topology(ctx context.Context, addrs []string) {
	redis.NewClusterClient(&redis.ClusterOptions{})                                                                  // want `^several servers through redis\.NewClusterClient; a proxy speaks as one server does: connect to it with a client of one server \(MC601\)$`
	redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m"})                                                 // want `MC601`
	redis.NewFailoverClusterClient(nil)                                                                              // want `MC601`
	redis.NewSentinelClient(nil)                                                                                     // want `MC601`
	redis.NewRing(&redis.RingOptions{})                                                                              // want `MC601`
	redis.NewUniversalClient(&redis.UniversalOptions{MasterName: "m", Protocol: 2, DisableIdentity: true})           // want `with MasterName.*MC601`
	redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"a", "b"}, Protocol: 2, DisableIdentity: true}) // want `with several Addrs.*MC601`
	redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"a"}, Protocol: 2, DisableIdentity: true})
	redis.NewUniversalClient(&redis.UniversalOptions{Addrs: addrs, Protocol: 2, DisableIdentity: true})
	rueidis.NewClient(rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: "m"}}) // want `MC601`
	rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"a", "b"}})                  // want `MC601`
	radix3.NewCluster(addrs)                                                                  // want `MC601`
	radix3.NewSentinel("m", addrs)                                                            // want `MC601`
	radix.ClusterConfig{}.New(ctx, addrs)                                                     // want `MC601`
	NewClusterClient(&options{ClientName: "x", DB: 3, Addrs: addrs})
}

func handshake(dial func(ctx context.Context, network, addr string) (redis.NetConn, error), name string) {
	redis.NewClient(&redis.Options{Protocol: 2, DisableIdentity: true, ClientName: "x"})  // want `^ClientName sends CLIENT SETNAME; the proxy refuses it, and with it each new connection: leave it out \(MC602\)$`
	redis.NewClient(&redis.Options{Protocol: 2, DisableIdentity: true, ClientName: name}) // want `MC602`
	redis.NewClient(&redis.Options{Protocol: 2, DisableIdentity: true, ClientName: ""})
	redis.NewClient(&redis.Options{})            // want `opens each connection with HELLO 3.*MC602`
	redis.NewClient(&redis.Options{Protocol: 3}) // want `HELLO 3.*MC602`
	redis.NewClient(&redis.Options{Protocol: 2}) // want `two CLIENT SETINFO.*MC602`
	redis.NewClient(&redis.Options{Dialer: dial})
	opts := &redis.Options{Protocol: 2, DisableIdentity: true}
	opts.ClientName = "later"                                                     // want `MC602`
	redigo.Dial("tcp", "a", redigo.DialClientName("x"), redigo.DialPassword("p")) // want `DialClientName sends CLIENT SETNAME.*MC602`
	redis.ParseURL("redis://host?client_name=x")                                  // want `client_name sends.*MC602`
	rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"a"}})           // want `without AlwaysRESP2, DisableCache, ForceSingleClient; its handshake fails.*MC602`
	rueidis.NewClient(rueidis.ClientOption{DisableCache: true})                   // want `without AlwaysRESP2, ForceSingleClient;.*MC602`
	rueidis.NewClient(rueidis.ClientOption{DisableCache: true, AlwaysRESP2: true, ForceSingleClient: true, InitAddress: []string{"a", "b"}})
}

func database(ctx context.Context, rdb *redis.Client, conn redigo.Conn, n int) {
	redis.NewClient(&redis.Options{Protocol: 2, DisableIdentity: true, DB: 3}) // want `^another database: DB; the proxy may not have it: check its number of databases \(MC603\)$`
	redis.NewClient(&redis.Options{Protocol: 2, DisableIdentity: true, DB: 0})
	redis.NewClient(&redis.Options{Protocol: 2, DisableIdentity: true, DB: n})
	opts := &redis.Options{Protocol: 2, DisableIdentity: true}
	opts.DB = 2                                     // want `MC603`
	redigo.Dial("tcp", "a", redigo.DialDatabase(1)) // want `MC603`
	redigo.DialURL("redis://host:6379/4")           // want `another database: an address with 4;.*MC603`
	redis.ParseURL("redis://host/0")
	redis.ParseURL("redis://user:secret@host/5")              // want `MC603`
	rueidis.MustParseURL("redis://host?db=6")                 // want `MC603`
	_ = rueidis.ClientOption{SelectDB: 7}                     // want `MC603`
	radix3.Dial("tcp", "a", radix3.DialSelectDB(8))           // want `MC603`
	_ = radix.PoolConfig{Dialer: radix.Dialer{SelectDB: "9"}} // want `MC603`
	rdb.Conn().Select(ctx, 1)                                 // want `another database: SELECT through .*MC603`
	conn.Do("SELECT", 1)                                      // want `MC603`
	net.Dial("tcp", "redis://host/3")
	var own options
	own.DB, own.ClientName = 3, "x"
}

func returned() *redis.Options {
	return &redis.Options{} // want `MC602`
}

func later(dial func(ctx context.Context, network, addr string) (redis.NetConn, error), given *redis.Options) {
	later := &redis.Options{}
	later.Dialer = dial
	redis.NewClient(later)
	if given == nil {
		given = &redis.Options{}
	}
}
