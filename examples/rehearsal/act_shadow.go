package main

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// rehearsalPolicy demands only results that a run of seconds can show. Latencies mean nothing while
// both stores are in this process.
func rehearsalPolicy() report.Policy {
	return report.Policy{
		Rate: 1e-2, Keys: 30, Contended: 20, Errors: 1e-2, LockTimeouts: 1e-2, NotCompared: 0.02,
		LatencySlack: time.Hour, RTT: time.Hour, Lag: time.Hour, Silence: time.Hour,
	}
}

// actShadow runs both paths side by side, as a team does in staging: first without a bug, then with
// planted bugs.
func (r *rehearsal) actShadow(ctx context.Context) error {
	r.screen.title("E", "The shadow: what to run in staging before you believe any of this")
	r.stage.empty()
	stream, own := r.shadowStream()
	r.screen.say(3, dim, "The service answers from cas, on the legacy Redis. In the background each update is compared "+
		"with the same one on a candidate: three ways, and by a verifier when all is quiet. "+
		"%s events%s, a shadow in each of %d processes, their reports merged.",
		count(len(stream)), ofRecording(own), r.processes())

	aa := shadowRun{
		name: "aa", candidate: casIn(r.stage.legacy), stream: stream,
		processes: r.processes(), patience: patient, rounds: 2,
		cfg: shadow.Config{AA: true},
	}
	calibration, err := r.quiet(ctx, aa, "A/A, cas and cas", "cas, a second cas")
	if err != nil || ctx.Err() != nil {
		return err
	}
	ab := shadowRun{
		name: "ab", candidate: lockIn(r.stage.proxy, lockupdate.Config{}), stream: stream,
		processes: r.processes(), patience: patient, rounds: 2,
		cfg: shadow.Config{Calibration: calibration.report},
	}
	verdict, err := r.quiet(ctx, ab, "A/B, cas and lockupdate behind the proxy", "cas, lockupdate")
	if err != nil || ctx.Err() != nil {
		return err
	}
	r.judged(verdict.report)
	return r.plant(ctx, calibration.report)
}

func ofRecording(own bool) string { return map[bool]string{false: " of the recording"}[own] }

// processes returns the number of processes of the service.
func (r *rehearsal) processes() int { return min(processes, r.cfg.writers) }

// shadowStream returns the first events of the stream or, if that is too short, of the recording.
func (r *rehearsal) shadowStream() (stream []numbered, own bool) {
	n := r.sample() * 2 / 3
	if len(r.stream) >= n {
		return r.stream[:n], true
	}
	recorded, err := events.Recorded()
	if err != nil {
		return r.stream, true // the recording was not read before
	}
	return number(recorded[:min(n, len(recorded))]), false
}

// quiet plays a run without bugs, which must report no difference.
func (r *rehearsal) quiet(ctx context.Context, run shadowRun, label, of string) (shadowResult, error) {
	res, err := r.shadowed(ctx, run)
	if err != nil || res.report == nil {
		return res, err
	}
	r.screen.line("")
	r.screen.line("   " + r.screen.paint(bold, label))
	r.showFailures(res.result)
	r.kept(res.result)
	for _, c := range report.Comparators() {
		r.screen.item("  "+comparatorName(c), normal, "%s", talliesOf(res.report, c))
	}
	v := res.report.Verify
	r.screen.item("  verifier", normal, "%s of %s keys equal with their expiry, %d rounds in a row",
		count(int(v.Equal)), count(int(v.Checked)), v.Settled)
	line := rowOf("E  "+of+" in shadow", res.result)
	if found := sightings(res.report); len(found) > 0 {
		r.screen.item("", red, "NOT QUIET: %s", listed(found))
		r.broken = append(r.broken, fmt.Sprintf("shadow %s: found where there is nothing to find: %s", run.name, listed(found)))
		line.verdict, line.as = "NOISE", red
	} else {
		r.screen.item("", green, "quiet: 0 findings")
	}
	r.rows = append(r.rows, line)
	return res, r.save(run.name, res.report)
}

// judged prints the results for the policy of a rehearsal and for that of a migration.
func (r *rehearsal) judged(rep *report.Report) {
	p := rehearsalPolicy()
	v := rep.Judge(p)
	as := map[report.State]style{report.Ready: green, report.NotReady: red, report.NotEnoughData: yellow}
	r.screen.item("  verdict", as[v.State], "%s", v.Headline)
	asks := report.Policy{LatencySlack: p.LatencySlack, RTT: p.RTT, Lag: p.Lag, Silence: p.Silence}
	r.screen.item("", dim, "That is by a policy for rehearsals: a rate of %v at most, %d keys, %d contended commits. "+
		"By the default one, latencies aside, which asks for 1e-4, 3,000 and 3,000:", p.Rate, p.Keys, p.Contended)
	v = rep.Judge(asks)
	r.screen.item("", as[v.State], "%s", v.Headline)
}
