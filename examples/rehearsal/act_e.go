package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	r.title("E  The shadow: what to run in staging before you believe any of this")
	r.stage.empty()
	stream := r.stream[:r.cfg.sample]
	r.say(3, "The service answers from cas, on the legacy Redis. In its shadow, in the background, a candidate for the new "+
		"path does each update too. Two comparators look for differences. seeded: the same update of the same value, on a key "+
		"of its own. free: updates that race each other; of each audited one the predecessor is known, and a contended one "+
		"has met another writer. %s events, a shadow in each of %d processes, their reports merged.",
		count(len(stream)), processes)
	aa := shadowRun{
		name: "aa", candidate: onCAS(r.stage.legacy), stream: stream, processes: processes,
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
	p := rehearsalPolicy()
	r.item("  verdict", "%s", rep.Judge(p).Headline)
	r.item("", "A rate at 80 %%: so rare are differences, with a probability of 80 %%, if none was seen in so few calls. "+
		"A gate is one condition for the cut-over; a policy is their limits. "+
		"This one is for rehearsals: differences in at most %v of the calls, %d keys, %d contended commits. "+
		"By the default one, latencies aside, which asks for 1e-4, 3,000 and 3,000:", p.Rate, p.Keys, p.Contended)
	p = report.Policy{LatencySlack: p.LatencySlack, RTT: p.RTT, Lag: p.Lag, Silence: p.Silence}
	r.item("", "%s", rep.Judge(p).Headline)
	return r.plant(ctx, calibration)
}

// quiet plays a run without bugs, which must report no difference.
func (r *rehearsal) quiet(ctx context.Context, s shadowRun, label, of string) (*report.Report, error) {
	x, rep, err := r.shadowed(ctx, s)
	if err != nil || rep == nil {
		return nil, err
	}
	r.line("\n   %s", label)
	r.judged(x, "E  "+of+" in shadow")
	for _, c := range report.Comparators() {
		r.item("  "+string(c), "%s", tally(rep, c))
	}
	if found := slices.Concat(sightings(rep, report.Seeded), sightings(rep, report.Free)); len(found) > 0 {
		r.item("", "NOT QUIET: %s", listed(found))
		r.broken = append(r.broken, fmt.Sprintf("shadow %s: found where there is nothing to find: %s", s.name, listed(found)))
		r.rows[len(r.rows)-1].verdict = "NOISE"
	} else {
		r.item("", "quiet: 0 findings")
	}
	return rep, nil
}

// plant plays the planted bugs one after the other.
func (r *rehearsal) plant(ctx context.Context, calibration *report.Report) error {
	r.line("\n   Three bugs, planted in the candidate: who finds them, and who cannot")
	line, found, bugs := row{run: "E  cas, planted bugs in shadow", lost: "-", doubled: "-"}, 0, r.bugs(ctx)
	for i, b := range bugs {
		b.cfg.Calibration = calibration
		x, rep, err := r.shadowed(ctx, b)
		if err != nil || rep == nil {
			return err
		}
		r.broken = append(r.broken, x.kept()...)
		line.acked, line.of = line.acked+x.audit.Acknowledged, line.of+len(x.stream)
		if stalls := x.stalls.count(); stalls > 0 {
			b.title += fmt.Sprintf(", %d times", stalls)
		}
		r.say(3, "%d. %s: %s", i+1, b.name, b.title)
		for _, c := range report.Comparators() {
			r.item("  "+string(c), "%s", cmp.Or(listed(sightings(rep, c)), "nothing"))
		}
		if slices.ContainsFunc(sightings(rep, b.finder), func(f report.Finding) bool { return f.Class == b.class }) {
			found++
			continue
		}
		r.item("", "NOT FOUND by %s, whose task it is", b.finder)
		r.broken = append(r.broken, fmt.Sprintf("shadow: %s did not find the planted bug %q: %s", b.finder, b.name, b.title))
	}
	if line.verdict = fmt.Sprintf("%d found", found); found < len(bugs) {
		line.verdict += "!"
	}
	r.rows = append(r.rows, line)
	return nil
}

// bugs returns the planted bugs. One process shows the first two. The third needs contention: it is
// lockOnly with stalls, as in act D, in the background and on the busiest room.
func (r *rehearsal) bugs(ctx context.Context) []shadowRun {
	leaves, text := rmw.NoTTL, "none"
	if r.stage.real {
		leaves, text = time.Hour, "an hour" // on real servers, all keys must expire
	}
	codec := shadowRun{
		name: "codec", title: "a field that is zero is not stored", finder: report.Seeded, class: report.ValueDiffers,
		candidate: onLock(r.stage.proxy, "", lockupdate.Config{}), fault: &fault{}, stream: r.stream[:r.cfg.sample/5],
		processes: 1,
	}
	expiry, guard, lease := codec, codec, 2*r.lease() // there is more to do than in act D
	expiry.name, expiry.class = "expiry", report.TTLDiffers
	expiry.title = fmt.Sprintf("a commit forgets its expiry of %v minutes, and leaves %s", roomTTL.Minutes(), text)
	expiry.fault = &fault{ttl: leaves}

	guard.name, guard.finder, guard.class = "guard", report.Free, report.LostUpdate
	guard.title = fmt.Sprintf("a lock without the guard, while a process stalls past its lease of %v", lease)
	guard.candidate, guard.fault = onLockOnly(r.stage.proxy, "", lockupdate.Config{Lease: lease}), nil
	guard.stream, guard.processes = hottest(r.stream, 1, max(r.cfg.sample/4, 60)), processes
	_, hidden := r.prefixes(guard.name)
	guard.stalls = &stalls{
		ctx: ctx, key: hidden + "~shadow:free:{room:" + guard.stream[0].Room + "}", limit: stallLimit,
		every: 1, // from the first commit on, since one commit may store several updates
	}
	if r.cfg.harmless {
		codec.fault, expiry.fault = nil, nil
		guard.candidate = onLock(r.stage.proxy, "", lockupdate.Config{Lease: lease})
	}
	return []shadowRun{codec, expiry, guard}
}

// sightings returns the differences that a comparator found and that prevent a cut-over, the most frequent first.
func sightings(r *report.Report, by report.Comparator) (all []report.Finding) {
	for _, op := range r.Operations {
		for _, f := range op.Findings {
			if f.Comparator == by && f.Class.Blocks() {
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b report.Finding) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

func listed(all []report.Finding) string {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = string(f.Class)
		if f.Path != "" {
			texts[i] += " at " + f.Path
		}
		texts[i] += ", " + count(f.Count) + " calls"
	}
	return strings.Join(texts, "; ")
}

// tally summarizes the work of a comparator.
func tally(r *report.Report, c report.Comparator) string {
	var compared, equal, audited, contended int64
	for _, op := range r.Operations {
		t := op.Tallies[c]
		compared, equal = compared+t.Compared, equal+t.Classes[report.Match]+t.Classes[report.MatchNoop]
		audited, contended = audited+op.Audited, contended+op.Contended
	}
	text := fmt.Sprintf("%s calls compared, %s match", count(compared), count(equal))
	if c == report.Free {
		text += fmt.Sprintf(", %s audited, %s contended", count(audited), count(contended))
	}
	return text
}
