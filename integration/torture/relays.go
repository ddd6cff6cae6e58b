package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// relays stand between the clients and a server, one for each process, as if each had a wire of
// its own, and do to the connections what a nemesis wants.
type relays struct {
	upstream string
	mu       sync.Mutex
	all      []*toxiproxy.Proxy
}

// addr is the address of a process' relay.
func (r *relays) addr(process int) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.all) <= process {
		if err := r.add(); err != nil {
			return "", err
		}
	}
	return r.all[process].Listen, nil
}

func (r *relays) add() error {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	relay := toxiproxy.NewProxy(server, r.upstream, loopback(), r.upstream)
	if err := relay.Start(); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	r.all = append(r.all, relay)
	return nil
}

// some are all relays, or one of them, by chance: who is cut off alone is overtaken by others.
func (r *relays) some(rng *rand.Rand) []*toxiproxy.Proxy {
	if rng.IntN(2) == 0 {
		return r.one(rng)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// one is one relay, by chance.
func (r *relays) one(rng *rand.Rand) []*toxiproxy.Proxy {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := rng.IntN(len(r.all))
	return r.all[i : i+1]
}

func (r *relays) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, relay := range r.all {
		relay.Stop()
	}
}

// toxic is one thing that a relay does to what passes it.
type toxic struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`   // of toxiproxy
	Stream     string         `json:"stream"` // upstream: requests; downstream: replies
	Toxicity   float64        `json:"toxicity"`
	Attributes map[string]any `json:"attributes"`
}

// poison adds a toxic to relays; the function that it returns takes it away again.
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
