package cutover

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/names"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// heartbeat is an operate.Process, as the census has it.
type heartbeat struct {
	Name  string             `json:"name"`
	Epoch uint64             `json:"epoch"`
	Build string             `json:"build,omitempty"`
	At    time.Time          `json:"at"`
	Error string             `json:"error,omitempty"`
	Pause mover.Distribution `json:"pause,omitzero"`
	Sweep any                `json:"sweep,omitempty"`
}

// Heartbeat writes the stage that a process has seen into the census, every 20 seconds and within a
// second of a change, until Close. With Config.Heartbeat it also has pauses and a running operate.Sweep. It
// shows an operator, by operate.Census, which processes have seen a stage; nothing else depends on it.
type Heartbeat struct {
	key    rmw.Key
	store  rmw.Updater
	source Source
	self   heartbeat
	pauses *mover.Pauses
	sweep  atomic.Pointer[any]
	// others tells when this process saw each heartbeat first. It does not compare clocks.
	others map[string]sighting
	end    context.CancelFunc
	ended  chan struct{}
}

type sighting struct {
	heartbeat string
	since     time.Time
}

const (
	heartbeatInterval = 20 * time.Second
	// heartbeatLife is how long a heartbeat stays after the process has stopped: each process
	// deletes those that have not changed for so long. The key expires after twice that.
	heartbeatLife = time.Minute
)

// StartHeartbeat begins to write heartbeats of this process into the old store, under the key
// ~cutover:{name}:census. An error of the old store is tried again.
func StartHeartbeat(name string, old rmw.Updater, source Source) (*Heartbeat, error) {
	key, err := names.Census(name)
	key.TTL = 2 * heartbeatLife
	if err == nil && (redisx.IsNil(old) || redisx.IsNil(source)) {
		err = fmt.Errorf("%w: cutover.StartHeartbeat needs a Store and a Source, not nil", rmw.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	h := &Heartbeat{
		key: key, store: old, source: source, self: newProcess(), pauses: mover.NewPauses(),
		end: end, ended: make(chan struct{}),
	}
	go h.run(ctx)
	return h, nil
}

func (h *Heartbeat) run(ctx context.Context) {
	defer close(h.ended)
	written := h.self
	for ctx.Err() == nil {
		h.look(ctx)
		changed := h.self.Epoch != written.Epoch || h.self.Error != written.Error || (h.self.Sweep == nil) != (written.Sweep == nil)
		if changed || time.Since(written.At) >= heartbeatInterval {
			h.self.At = time.Now().UTC()
			if h.write(ctx) == nil {
				written = h.self
			}
		}
		_ = redisx.Sleep(ctx, jittered(pollInterval))
	}
}

// look asks for the stage in force.
func (h *Heartbeat) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	stage, err := h.source.Stage(ctx)
	if source, ok := h.source.(interface{ Err() error }); ok && err == nil {
		err = source.Err()
	}
	h.self.Epoch, h.self.Error = stage.Epoch, ""
	if err != nil {
		h.self.Error = fmt.Sprintf("%.300s", redisx.WithoutArguments(err))
	}
	h.self.Pause, h.self.Sweep = h.pauses.Summary(), nil
	if sweep := h.sweep.Load(); sweep != nil {
		h.self.Sweep = *sweep
	}
}

// sweeps records the progress of a sweep, or with nil its end. It does nothing on a nil Heartbeat.
func (h *Heartbeat) sweeps(now any) {
	switch {
	case h == nil:
	case now == nil:
		h.sweep.Store(nil)
	default:
		h.sweep.Store(&now)
	}
}

// write writes a heartbeat, and deletes those of processes that have stopped.
func (h *Heartbeat) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	text, err := json.Marshal(h.self)
	if err != nil {
		return err
	}
	before := h.others
	res, err := h.store.Update(ctx, h.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		var stopped []string
		for process, seen := range before { // reads few fields, so that heartbeats of others do not conflict
			if time.Since(seen.since) < heartbeatLife {
				continue
			}
			if heartbeat, there := cur.Field(process); there && heartbeat == seen.heartbeat {
				stopped = append(stopped, process)
			}
		}
		return cur.Without(stopped...).With(h.self.Name, string(text)), nil
	})
	if err != nil {
		return err
	}
	others := map[string]sighting{}
	for process, heartbeat := range res.Before.All() {
		others[process] = sighting{heartbeat, time.Now()}
		if seen := before[process]; seen.heartbeat == heartbeat {
			others[process] = seen
		}
	}
	h.others = others
	return nil
}

// newProcess describes this process. Its name has a random part, for containers with equal host names.
func newProcess() heartbeat {
	p := heartbeat{Name: "host"}
	if host, err := os.Hostname(); err == nil {
		p.Name = strings.ReplaceAll(host, " ", "-")
	}
	p.Name = fmt.Sprintf("%.40s:%d:%s", p.Name, os.Getpid(), strings.ToLower(rand.Text()[:4]))
	if info, ok := debug.ReadBuildInfo(); ok {
		p.Build = info.Main.Version
	}
	return p
}

// Close ends the heartbeats, and deletes the last one if the old store answers within a second.
func (h *Heartbeat) Close() error {
	h.end()
	<-h.ended
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	_, _ = h.store.Update(ctx, h.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return cur.Without(h.self.Name), nil
	})
	return nil
}
