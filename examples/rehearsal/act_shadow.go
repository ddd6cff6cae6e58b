package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// rehearsalPolicy demands only results that a run of seconds can show. Latencies mean nothing while
// both stores are in this process.
func rehearsalPolicy() report.Policy {
	return report.Policy{
		Rate: 1e-2, Confidence: 0.8, Keys: 30, Contended: 20, Errors: 1e-2, LockTimeouts: 1e-2, NotCompared: 0.02,
		LatencySlack: time.Hour, RTT: time.Hour, Lag: time.Hour, Silence: time.Hour,
	}
}

// actShadow runs both paths side by side, as a team does in staging: first without a bug, then with
// planted bugs.
func (r *rehearsal) actShadow(ctx context.Context) error {
	r.screen.title("E  The shadow: what to run in staging before you believe any of this")
	r.stage.empty()
	stream := r.stream[:min(r.sample(), len(r.stream))]
	r.screen.say(3, dim, "The service answers from cas, on the legacy Redis. In its shadow, in the background, a candidate for the new "+
		"path does each update too. Three comparators look for differences. seeded: the same update of the same value, on a key "+
		"of its own. lockstep: the same updates in the same order. free run: updates that race each other. A verifier compares "+
		"both stores when all is quiet. %s events, a shadow in each of %d processes, their reports merged.",
		count(len(stream)), processes)
	aa := shadowRun{
		name: "aa", candidate: onCAS(r.stage.legacy), stream: stream, processes: processes, patience: patient, rounds: 2,
		cfg: shadow.Config{AA: true},
	}
	calibration, err := r.quiet(ctx, aa, "A/A, cas and a second cas: what differs here is noise of the setup", "cas, a second cas")
	if err != nil || calibration == nil {
		return err
	}
	ab := aa
	ab.name, ab.candidate = "ab", onLock(r.stage.proxy, "lockupdate", lockupdate.Config{})
	ab.cfg = shadow.Config{Calibration: calibration}
	rep, err := r.quiet(ctx, ab, "A/B, cas and lockupdate behind the proxy", "cas, lockupdate")
	if err != nil || rep == nil {
		return err
	}
	r.headlines(rep)
	return r.plant(ctx, calibration)
}

// quiet plays a run without bugs, which must report no difference.
func (r *rehearsal) quiet(ctx context.Context, s shadowRun, label, of string) (*report.Report, error) {
	x, rep, err := r.shadowed(ctx, s)
	if err != nil || rep == nil {
		return nil, err
	}
	r.screen.line("")
	r.screen.line("   " + r.screen.paint(bold, label))
	r.judged(x, "E  "+of+" in shadow")
	for _, c := range report.Comparators() {
		r.screen.item("  "+comparatorName(c), normal, "%s", tally(rep, c))
	}
	v := rep.Verify
	r.screen.item("  verifier", normal, "%s of %s keys equal with their expiry, %d rounds in a row",
		count(int(v.Equal)), count(int(v.Checked)), v.Settled)
	if found := sightings(rep); len(found) > 0 {
		r.screen.item("", red, "NOT QUIET: %s", listed(found))
		r.broken = append(r.broken, fmt.Sprintf("shadow %s: found where there is nothing to find: %s", s.name, listed(found)))
		line := &r.rows[len(r.rows)-1]
		line.verdict, line.as = "NOISE", red
	} else {
		r.screen.item("", green, "quiet: 0 findings")
	}
	return rep, r.reports.save(s.name, rep)
}

// headlines prints the verdicts for the policy of a rehearsal and for that of a migration.
func (r *rehearsal) headlines(rep *report.Report) {
	p := rehearsalPolicy()
	as := map[report.State]style{report.Ready: green, report.NotReady: red, report.NotEnoughData: yellow}
	v := rep.Judge(p)
	r.screen.item("  verdict", as[v.State], "%s", v.Headline)
	r.screen.item("", dim, "That is by a policy for rehearsals: differences in at most %v of the calls, %d keys, %d contended commits. "+
		"By the default one, latencies aside, which asks for 1e-4, 3,000 and 3,000:", p.Rate, p.Keys, p.Contended)
	v = rep.Judge(report.Policy{LatencySlack: p.LatencySlack, RTT: p.RTT, Lag: p.Lag, Silence: p.Silence})
	r.screen.item("", as[v.State], "%s", v.Headline)
}

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
	line, found, all := row{run: "E  cas, planted bugs in shadow", lost: "-", doubled: "-", as: green}, 0, r.bugs(ctx)
	for i, b := range all {
		b.run.cfg.Calibration = calibration
		x, rep, err := r.shadowed(ctx, b.run)
		if err != nil || rep == nil {
			return err
		}
		r.broken = append(r.broken, x.kept()...)
		line.acked, line.of = line.acked+x.audit.Acknowledged, line.of+len(x.stream)
		if stalls := x.stalls.count(); stalls > 0 {
			b.title += fmt.Sprintf(", %d times", stalls)
		}
		r.screen.say(3, normal, "%d. %s: %s", i+1, b.run.name, b.title)
		if r.exposed(b, rep) {
			found++
		}
		if err := r.reports.save(b.run.name, rep); err != nil {
			return err
		}
	}
	line.verdict = fmt.Sprintf("%d found", found)
	if found < len(all) {
		line.verdict, line.as = line.verdict+"!", red
	}
	r.rows = append(r.rows, line)
	return nil
}

// bugs returns the planted bugs. One process shows the first two. The third needs contention
// between several.
func (r *rehearsal) bugs(ctx context.Context) []bug {
	leaves, text := rmw.NoTTL, "none"
	if r.stage.real {
		leaves, text = time.Hour, "an hour" // on real servers, all keys must expire
	}
	alone := func(name string, plant func(rmw.Store) rmw.Store) shadowRun {
		if r.cfg.harmless {
			plant = nil
		}
		return shadowRun{
			name: name, candidate: onLock(r.stage.proxy, name, lockupdate.Config{}), fault: plant,
			stream: r.stream[:max(r.sample()/5, 1)], processes: 1, patience: impatient, rounds: 4,
		}
	}
	stalling, lease := r.unguardedRun(ctx)
	return []bug{
		{alone("codec", dropsZeros), "a field that is zero is not stored", report.Seeded, report.ValueDiffers},
		{
			alone("expiry", dropsExpiry(leaves)),
			fmt.Sprintf("a commit forgets its expiry of %v minutes, and leaves %s", roomTTL.Minutes(), text),
			report.Seeded, report.TTLDiffers,
		},
		{
			stalling, fmt.Sprintf("a lock without the guard, while a process stalls past its lease of %v", lease),
			report.Free, report.LostUpdate,
		},
	}
}

// unguardedRun is the third bug: lockOnly with stalls, as in act D, in the background and on the
// busiest room.
func (r *rehearsal) unguardedRun(ctx context.Context) (s shadowRun, lease time.Duration) {
	hot := hottest(r.stream, 1, max(r.sample()/4, 60))
	open := onLockOnly
	if r.cfg.harmless {
		open = onLock
	}
	lease = 2 * r.lease() // there is more to do than in act D
	s = shadowRun{
		name: "guard", stream: hot, processes: processes, patience: impatient, rounds: 4,
		candidate: open(r.stage.proxy, "guard", lockupdate.Config{Lease: lease}),
	}
	_, hidden := r.prefixes(s.name)
	s.stalls = &stalls{
		ctx: ctx, key: hidden + "~free:{room:" + hot[0].Room + "}", limit: stallLimit,
		every: 1, // from the first commit on, since one commit may store several updates
	}
	return s, lease
}

// exposed prints which comparators found a bug, and reports whether the right one did.
func (r *rehearsal) exposed(b bug, rep *report.Report) bool {
	seen, hit := sightings(rep), false
	for _, c := range append(report.Comparators(), report.Verifier) {
		as, text := dim, "nothing"
		var mine []string
		for _, f := range seen {
			if f.by == c {
				as, mine = normal, append(mine, f.text)
			}
		}
		for _, f := range seen {
			if f.by == c && c == b.finder && f.class == b.class {
				as, hit = green, true
			}
		}
		if len(mine) > 0 {
			text = strings.Join(mine, "; ")
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
