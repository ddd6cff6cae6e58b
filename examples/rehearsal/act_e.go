package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	r.screen.title("E  The shadow: what to run in staging before you believe any of this")
	r.stage.empty()
	stream := r.stream[:r.cfg.sample]
	r.screen.say(3, dim, "The service answers from cas, on the legacy Redis. In its shadow, in the background, a candidate for the new "+
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
		r.screen.item("  "+string(c), normal, "%s", tally(rep, c))
	}
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
	r.screen.item("", dim, "A rate at 80 %%: so rare are differences, with a probability of 80 %%, if none was seen in so few calls. "+
		"A gate is one condition for the cut-over; a policy is their limits. "+
		"This one is for rehearsals: differences in at most %v of the calls, %d keys, %d contended commits. "+
		"By the default one, latencies aside, which asks for 1e-4, 3,000 and 3,000:", p.Rate, p.Keys, p.Contended)
	v = rep.Judge(report.Policy{LatencySlack: p.LatencySlack, RTT: p.RTT, Lag: p.Lag, Silence: p.Silence})
	r.screen.item("", as[v.State], "%s", v.Headline)
}

// plant plays the planted bugs one after the other.
func (r *rehearsal) plant(ctx context.Context, calibration *report.Report) error {
	r.screen.line("")
	r.screen.line("   " + r.screen.paint(bold, "Three bugs, planted in the candidate: who finds them, and who cannot"))
	line, found, bugs := row{run: "E  cas, planted bugs in shadow", lost: "-", doubled: "-", as: green}, 0, r.bugs(ctx)
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
		r.screen.say(3, normal, "%d. %s: %s", i+1, b.name, b.title)
		if r.exposed(b, rep) {
			found++
		}
		if err := r.reports.save(b.name, rep); err != nil {
			return err
		}
	}
	line.verdict = fmt.Sprintf("%d found", found)
	if found < len(bugs) {
		line.verdict, line.as = line.verdict+"!", red
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

// exposed prints which comparators found a bug, and reports whether the right one did.
func (r *rehearsal) exposed(b shadowRun, rep *report.Report) (hit bool) {
	for _, c := range report.Comparators() {
		as, text := dim, "nothing"
		seen := slices.DeleteFunc(sightings(rep), func(s sighting) bool { return s.by != c })
		if len(seen) > 0 {
			as, text = normal, listed(seen)
		}
		if c == b.finder && slices.ContainsFunc(seen, func(s sighting) bool { return s.class == b.class }) {
			as, hit = green, true
		}
		r.screen.item("  "+string(c), as, "%s", text)
	}
	if !hit {
		r.screen.item("", red, "NOT FOUND by %s, whose task it is", b.finder)
		r.broken = append(r.broken, fmt.Sprintf("shadow: %s did not find the planted bug %q: %s", b.finder, b.name, b.title))
	}
	return hit
}

// sighting is one kind of difference that a comparator found.
type sighting struct {
	by    report.Comparator
	class report.Class
	count int64
	text  string
}

// sightings returns all differences of a report that prevent a cut-over, by comparator.
func sightings(r *report.Report) (all []sighting) {
	for _, op := range r.Operations {
		for _, f := range op.Findings {
			if !f.Class.Blocks() {
				continue
			}
			text := string(f.Class)
			if f.Path != "" {
				text += " at " + f.Path
			}
			all = append(all, sighting{f.Comparator, f.Class, f.Count, fmt.Sprintf("%s, %s calls", text, count(f.Count))})
		}
	}
	slices.SortFunc(all, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(b.count, a.count), cmp.Compare(a.text, b.text))
	})
	return all
}

func listed(all []sighting) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.text
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

// folder is the folder of the shadow reports. It writes no file outside, even through links.
type folder struct {
	path  string
	root  *os.Root
	fresh bool // made for this run
	saved int  // number of files
}

// openFolder returns the folder at a path, a new one for "", and nil for "-". An unwritable folder
// fails before any act runs.
func openFolder(path string) (f *folder, err error) {
	if path == "-" {
		return nil, nil
	}
	f = &folder{path: path, fresh: path == ""}
	if f.fresh {
		f.path, err = os.MkdirTemp("", "unwatch-rehearsal-")
	} else {
		err = os.MkdirAll(path, 0o755) //nolint:gosec // reports are redacted and may be shared
	}
	if err == nil {
		f.root, err = os.OpenRoot(f.path)
	}
	if err == nil {
		const try = ".unwatch-rehearsal-try"
		_ = f.root.Remove(try) // left by a killed run
		err = errors.Join(f.root.Mkdir(try, 0o700), f.root.Remove(try))
	}
	if err != nil {
		return nil, fmt.Errorf("-report: cannot write there: %w; give another folder, or - for none", err)
	}
	return f, nil
}

// close removes a fresh folder without files.
func (f *folder) close() error {
	if f == nil {
		return nil
	}
	if f.fresh {
		_ = os.Remove(f.path) // fails if there are files in it
	}
	return f.root.Close()
}

// save writes a report in every format.
func (f *folder) save(name string, rep *report.Report) error {
	if f == nil {
		return nil
	}
	for _, form := range []struct {
		ending string
		write  func(io.Writer, report.Policy) error
	}{{".json", rep.WriteJSON}, {".txt", rep.WriteText}, {".html", rep.WriteHTML}} {
		file, err := f.root.Create(name + form.ending)
		if err == nil {
			f.saved++
			err = errors.Join(form.write(file, rehearsalPolicy()), file.Close())
		}
		if err != nil {
			return fmt.Errorf("save the report: %w", err)
		}
	}
	return nil
}
