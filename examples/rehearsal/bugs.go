package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// bug is a planted bug of the candidate.
type bug struct {
	run    shadowRun
	title  string
	finder report.Comparator // the comparator that must find it
	class  report.Class      // the class that it must report
}

// plant plays the planted bugs one after the other.
func (r *rehearsal) plant(ctx context.Context, calibration *report.Report) error {
	r.screen.line("")
	r.screen.line("   " + r.screen.paint(bold, "Three bugs, planted in the candidate: who finds them, and who cannot"))
	found, acked, all := 0, 0, r.bugs()
	for i, b := range all {
		b.run.cfg.Calibration = calibration
		res, err := r.shadowed(ctx, b.run)
		if err != nil || res.report == nil {
			return err
		}
		r.kept(res.result)
		acked += res.audit.Acknowledged
		if res.stalls > 0 {
			b.title += fmt.Sprintf(", %d times", res.stalls)
		}
		r.screen.say(3, normal, "%d. %s: %s", i+1, b.run.name, b.title)
		if r.exposed(b, res) {
			found++
		}
		if err := r.save(b.run.name, res.report); err != nil {
			return err
		}
	}
	line := row{run: "E  cas, planted bugs in shadow", acked: acked, verdict: fmt.Sprintf("%d found", found), as: green}
	if found < len(all) {
		line.verdict, line.as = line.verdict+"!", red
	}
	r.rows = append(r.rows, line)
	return nil
}

// bugs returns the planted bugs. One process shows the first two. The third needs contention
// between several.
func (r *rehearsal) bugs() []bug {
	few, _ := r.shadowStream()
	few = few[:max(len(few)/5, 1)]
	leaves, text := rmw.NoTTL, "none"
	if r.stage.real {
		leaves, text = time.Hour, "an hour" // on real servers, all keys must expire
	}
	alone := func(name string, plant func(rmw.Store) rmw.Store) shadowRun {
		c := lockIn(r.stage.proxy, lockupdate.Config{})
		if !r.cfg.harmless {
			c.fault = plant
		}
		return shadowRun{name: name, candidate: c, stream: few, processes: 1, patience: impatient, rounds: 4}
	}
	stalling, lease := r.unguardedRun()
	return []bug{
		{alone("codec", dropsZeros), "a field that is zero is not stored", report.Seeded, report.ValueDiffers},
		{
			alone("expiry", dropsExpiry(leaves)),
			fmt.Sprintf("a commit forgets its expiry of %v minutes, and leaves %s", r.stage.keys.ttl.Minutes(), text),
			report.Seeded, report.TTLDiffers,
		},
		{
			stalling, fmt.Sprintf("no guard, while a process stalls past its lease of %v", lease),
			report.Free, report.LostUpdate,
		},
	}
}

// unguardedRun is the third bug: lockOnly with stalls, as in act D, in the background and on the
// busiest room.
func (r *rehearsal) unguardedRun() (run shadowRun, lease time.Duration) {
	hot, _ := r.hotStream()
	busiest := roomsOf(hot)[0]
	hot = slices.DeleteFunc(slices.Clone(hot), func(n numbered) bool { return n.Room != busiest })
	hot = hot[:min(len(hot), r.sample()/5)]
	lease = r.lease()
	unguarded := lockOnlyIn
	if r.cfg.harmless {
		unguarded = lockIn
	}
	run = shadowRun{
		name: "guard", stream: hot, processes: r.processes(), patience: impatient, rounds: 4,
		candidate: unguarded(r.stage.proxy, lockupdate.Config{Lease: lease}),
	}
	_, hidden := r.spaces(run.name)
	run.candidate.stalls = &stalls{
		key: hidden.prefix + "~free:{" + keys{}.room(busiest) + "}", frozen: -1,
		// From the first commit on, since one commit may store several updates.
		every: 1, limit: stallLimit,
	}
	return run, lease
}

// exposed prints which comparators found a bug, and reports whether the right one did.
func (r *rehearsal) exposed(b bug, res shadowResult) bool {
	seen := sightings(res.report)
	hit := false
	for _, c := range append(report.Comparators(), report.Verifier) {
		mine, as, text := of(c, seen), normal, ""
		for _, s := range mine {
			if s.by == b.finder && s.class == b.class {
				hit, as = true, green
			}
		}
		if text = listed(mine); text == "" {
			as, text = dim, "nothing"
		}
		r.screen.item("  "+comparatorName(c), as, "%s", text)
	}
	if !hit {
		r.screen.item("", red, "NOT FOUND by %s, whose task it is", comparatorName(b.finder))
		r.broken = append(r.broken, fmt.Sprintf("shadow: %s did not find the planted bug %q: %s",
			comparatorName(b.finder), b.run.name, b.title))
	}
	return hit
}
