package integration

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// cutoverSide is one of the two stores of a cut-over.
type cutoverSide struct {
	// relays inject the faults, one for each address of the store.
	relays []*proxytest.Proxy
	// client returns a new client, through the relays or past them.
	client func(relayed bool) redis.UniversalClient
}

// relay starts a relay that changes nothing but by its faults.
func relay(t *testing.T, addr string) *proxytest.Proxy {
	t.Helper()
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), Backends: []string{addr}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// oneAddress is a server, or a proxy before several.
func oneAddress(profile *proxycompat.Profile, addr string) func(t *testing.T) cutoverSide {
	return func(t *testing.T) cutoverSide {
		t.Helper()
		p := relay(t, addr)
		return cutoverSide{[]*proxytest.Proxy{p}, func(relayed bool) redis.UniversalClient {
			to := addr
			if relayed {
				to = p.Addr()
			}
			return redis.NewClient(proxycompat.Options(profile, to))
		}}
	}
}

// masters is a Redis Cluster with a relay before each node.
func masters(nodes []*servers.Server) func(t *testing.T) cutoverSide {
	return func(t *testing.T) cutoverSide {
		t.Helper()
		side, relayOf, addrs := cutoverSide{}, map[string]string{}, []string{}
		for _, node := range nodes {
			p := relay(t, node.Addr)
			side.relays = append(side.relays, p)
			relayOf[node.Addr] = p.Addr()
			addrs = append(addrs, node.Addr)
		}
		side.client = func(relayed bool) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: addrs, Protocol: 2, DisableIdentity: true,
				Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
					if relayed {
						addr = relayOf[addr]
					}
					return (&net.Dialer{}).DialContext(ctx, network, addr)
				},
			})
		}
		return side
	}
}

// cutoverProcess is all that a process opens.
type cutoverProcess struct {
	*cutover.Store
	also []io.Closer
}

func (p cutoverProcess) Close() error {
	err := p.Store.Close()
	for _, c := range p.also {
		if e := c.Close(); !errors.Is(e, redis.ErrClosed) { // a clause may close twice
			err = errors.Join(err, e)
		}
	}
	return err
}

func openCutover(t *testing.T, sides [2]cutoverSide, relayed bool, stage cutover.Source, cfg lockupdate.Config) cutoverProcess {
	var p cutoverProcess
	var of [2]cutover.Side
	for i, side := range sides {
		rdb := side.client(relayed)
		store := lockupdate.New(rdb, cfg)
		of[i] = cutover.Side{Store: store, Redis: rdb}
		p.also = append(p.also, store, rdb) // a clause opens hundreds of processes
	}
	p.Store = cutover.New(of[0], of[1], cutover.Config{Stage: stage})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// The contract holds at the stages of a cut-over between real servers. Of the slower servers, only two stages
// are played; package cutover plays all of them over models of servers.
func TestLongContractAcrossCutover(t *testing.T) {
	t.Parallel()
	long.Only(t)
	for name, start := range map[string]func(t *testing.T) func(t *testing.T) cutoverSide{
		"redis": func(t *testing.T) func(t *testing.T) cutoverSide {
			return oneAddress(proxycompat.Redis(), servers.Redis(t).Addr)
		},
		"nutcracker": func(t *testing.T) func(t *testing.T) cutoverSide {
			backends := []string{servers.Redis(t).Addr, servers.Redis(t).Addr}
			return oneAddress(proxycompat.Twemproxy05(), servers.Nutcracker(t, backends, 4).Addr)
		},
		"cluster": func(t *testing.T) func(t *testing.T) cutoverSide { return masters(servers.Cluster(t, 3)) },
	} {
		t.Run("redis to "+name, func(t *testing.T) {
			t.Parallel()
			server, new := servers.Redis(t), start(t)
			stages := 2 // a stage takes minutes
			if name == "redis" {
				stages = 4
			}
			old := oneAddress(proxycompat.Redis(), server.Addr)
			forward, reverse := cutover.Stage{Phase: cutover.Copying, Percent: 100}, cutover.Stage{Phase: cutover.Reverse}
			t.Run("stages", func(t *testing.T) {
				for _, stage := range []struct {
					name         string
					stores, rest cutover.Source // rest: of other processes, whose updates move the key, too
				}{
					{"copying", forward, reverse},
					{"flips", paths.Flips{}, cutover.Stage{}},
					{"follow", cutover.Stage{}, paths.Flips{}},
					{"reverse", reverse, forward},
				}[:stages] {
					t.Run(stage.name, func(t *testing.T) {
						t.Parallel()
						for _, clause := range rmwtest.Clauses() {
							t.Run(clause.Name, func(t *testing.T) {
								t.Parallel() // most of the time is the pause after a fault
								stores, rest := stage.stores, stage.rest
								if strings.HasPrefix(clause.Name, "tx-") {
									stores, rest = thawed(stores), thawed(rest)
								}
								target := cutoverTarget(t, [2]cutoverSide{old(t), new(t)}, stores, rest)
								assert.NoError(t, clause.Check(t.Context(), target), clause.Says)
							})
						}
					})
				}
			})
			names, _, err := client(t, server.Addr).ScanType(t.Context(), 0, "rmwtest:*", 1_000_000, "list").Result()
			require.NoError(t, err)
			assert.NotEmpty(t, names, "no key has moved")
		})
	}
}

// thawed returns the stages without those that are frozen, in which an update of keys with two homes is refused.
func thawed(s cutover.Source) cutover.Source {
	if _, flips := s.(paths.Flips); flips {
		return paths.Flips{Thawed: true}
	}
	return s
}

func cutoverTarget(t *testing.T, sides [2]cutoverSide, stage, rest cutover.Source) rmwtest.Target {
	// The locks of Direct are its own, so a Store sees its writes as those of a legacy service with WATCH.
	own := lockupdate.Config{LockName: func(key string) string { return "/direct/" + key }}
	return rmwtest.Target{
		Open:   func() rmw.Store { return openCutover(t, sides, true, stage, lockupdate.Config{}) },
		Direct: paths.AtHome{Store: openCutover(t, sides, false, rest, own).Store},
		// Close waits for a command that hangs.
		Faults: paths.Faults{Proxies: slices.Concat(sides[0].relays, sides[1].relays), HangFor: time.Second},
		// An Update that moves its key sends many commands, and each of them hangs once.
		Patience: 5 * time.Minute,
	}
}
