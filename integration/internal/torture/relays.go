package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// relays connect the clients and the servers, one for each process and server, so that a nemesis can fault
// each connection separately.
type relays struct {
	mu    sync.Mutex
	wires [][]*toxiproxy.Proxy // of each process
	inner []*toxiproxy.Proxy   // between the servers, one before each
}

// addr returns a process's relay to a server.
func (r *relays) addr(process int, upstream string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.wires) <= process {
		r.wires = append(r.wires, nil)
	}
	for _, relay := range r.wires[process] {
		if relay.Upstream == upstream {
			return relay.Listen, nil
		}
	}
	relay, err := start(upstream)
	if err != nil {
		return "", err
	}
	r.wires[process] = append(r.wires[process], relay)
	return relay.Listen, nil
}

// start starts a relay.
func start(upstream string) (*toxiproxy.Proxy, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	relay := toxiproxy.NewProxy(server, upstream, loopback(), upstream)
	if err := relay.Start(); err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	return relay, nil
}

// between returns the relay for other servers.
func (r *relays) between(upstream string) (string, error) {
	relay, err := start(upstream)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inner = append(r.inner, relay)
	return relay.Listen, nil
}

// around returns the relays that isolate a server, with half of the processes, from all others.
func (r *relays) around(rng *rand.Rand, upstream string) (cut []*toxiproxy.Proxy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, relay := range r.inner {
		if relay.Upstream == upstream {
			cut = append(cut, relay)
		}
	}
	for _, process := range rng.Perm(len(r.wires))[:len(r.wires)/2] {
		for _, relay := range r.wires[process] {
			if relay.Upstream != upstream {
				cut = append(cut, relay)
			}
		}
	}
	return cut
}

// to returns all relays to a server.
func (r *relays) to(upstream string) (all []*toxiproxy.Proxy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, relay := range append(slices.Concat(r.wires...), r.inner...) {
		if relay.Upstream == upstream {
			all = append(all, relay)
		}
	}
	return all
}

// some returns the relays of all processes, or of a random one: a process that is cut off alone is
// overtaken by others.
func (r *relays) some(rng *rand.Rand) []*toxiproxy.Proxy {
	if rng.IntN(2) == 0 {
		return r.one(rng)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.wires...)
}

// one returns the relays of a random process.
func (r *relays) one(rng *rand.Rand) []*toxiproxy.Proxy {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wires) == 0 {
		return nil // no process has connected yet
	}
	return slices.Clone(r.wires[rng.IntN(len(r.wires))])
}

func (r *relays) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, relay := range append(slices.Concat(r.wires...), r.inner...) {
		relay.Stop()
	}
}

// toxic is a fault of a relay.
type toxic struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`   // of toxiproxy
	Stream     string         `json:"stream"` // upstream: requests; downstream: replies
	Toxicity   float64        `json:"toxicity"`
	Attributes map[string]any `json:"attributes"`
}

// poison adds a toxic to relays; heal removes it.
func poison(all []*toxiproxy.Proxy, t toxic) (heal func(), err error) {
	t.Name, t.Toxicity = "nemesis-"+t.Stream, 1
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	heal = func() {
		for _, relay := range all {
			relay.Toxics.ResetToxics(context.Background())
		}
	}
	for _, relay := range all {
		if _, err := relay.Toxics.AddToxicJson(bytes.NewReader(raw)); err != nil {
			heal()
			return nil, fmt.Errorf("relay: %w", err)
		}
	}
	return heal, nil
}
