package plan

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/bench/internal/lab"
	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/worker"
)

// hold measures a keeper that holds locks.
func (r *Runner) hold(ctx context.Context, s Scenario, name string) error {
	path, err := r.lab.Path(ctx, s.Network)
	if err != nil {
		return err
	}
	if err := path.Clear(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Lease+r.Window+slotLimit)
	defer cancel()
	shrink := max(1, r.Shrink)
	lease := s.Lease / time.Duration(min(shrink, 4)) // on a busy machine a keeper renews late
	job := &worker.HoldJob{Keeper: name, Addr: path.Addr, Names: s.Locks / shrink, Lease: lease, Window: r.Window}
	child, err := worker.Start(ctx, r.Program, worker.Job{Hold: job})
	if err != nil {
		return err
	}
	defer child.Stop()
	h := result.Hold{Scenario: s.Name, Impl: name}
	err = r.watchHold(ctx, path, child, &h)
	if crash, ok := errors.AsType[*worker.CrashError](err); ok && ctx.Err() == nil {
		h.Crashed, err = crash.Error(), nil
		r.say("  %-18s CRASHED: %v", name, crash)
	}
	if err == nil {
		r.file.Holds = append(r.file.Holds, h)
	}
	return err
}

func (r *Runner) watchHold(ctx context.Context, path *lab.Path, child *worker.Child, h *result.Hold) error {
	if _, err := child.Ready(); err != nil {
		return err
	}
	before, err := path.Counters(ctx)
	if err != nil {
		return err
	}
	load := path.Watch()
	if err := child.Go(); err != nil {
		return err
	}
	began := time.Now()
	// After the window the child measures its memory, which must not count.
	select {
	case <-time.After(r.Window):
	case <-ctx.Done():
		return ctx.Err()
	}
	h.Took = time.Since(began)
	after, err := path.Counters(ctx)
	if err != nil {
		return err
	}
	h.Server = after.Sub(before)
	watched := load.Stop()
	answer, err := child.Answer()
	if err != nil {
		return err
	}
	h.Worker = *answer.Hold
	h.ForeignCores = watched.Foreign(h.Worker.Usage.CPU)
	keys := make([]string, h.Worker.Locks)
	for i := range keys {
		keys[i] = h.Worker.Prefix + worker.LockName(i)
	}
	held, err := path.Exist(ctx, keys)
	if err != nil {
		return err
	}
	h.Lost = int64(len(keys)) - held
	r.say("  %-18s client %4.1f %%, redis %4.1f %% of a core, %5.1f MB, latest %v, lost %d", h.Impl,
		100*h.ClientShare(), 100*h.RedisShare(), h.Megabytes(), h.Worker.Late.Max().Round(time.Microsecond), h.Lost)
	return nil
}
