package main

import (
	"fmt"
	"time"
)

// row is a row of the closing table.
type row struct {
	run     string
	acked   int
	of      int // number of events to run
	audited bool
	lost    int
	doubled int
	verdict string
	as      style
}

func rowOf(name string, res result) row {
	a := res.audit
	out := row{run: name, acked: a.Acknowledged, of: len(res.replay.stream), audited: true, lost: len(a.Lost), doubled: len(a.Doubled)}
	out.verdict, out.as = "kept", green
	if !a.clean() {
		out.verdict, out.as = "BROKEN", red
	}
	return out
}

// head prints the settings of the run.
func (r *rehearsal) head() {
	s := r.screen
	s.line(s.paint(bold, "Unwatch rehearsal: a service goes from WATCH to lock-guarded updates"))
	what := fmt.Sprintf("%s events of %s", count(len(r.stream)), r.cfg.events)
	if r.cfg.events == "" {
		what = fmt.Sprintf("The first %s of %s recorded events (-all: all)", count(len(r.stream)), count(r.of))
		if len(r.stream) == r.of {
			what = fmt.Sprintf("All %s recorded events", count(r.of))
		}
	}
	where := "Redis and proxy run in this process; the traffic is real, over loopback TCP."
	if r.stage.real {
		where = fmt.Sprintf("On real servers: Redis %s, proxy %s. All keys begin with %s and expire.",
			r.stage.legacy.addr, r.stage.proxy.addr, r.stage.keys.prefix)
	}
	s.say(0, dim, "%s of a chat service in %s rooms, one update each, by %d writers in %d processes. "+
		"After each run every event is looked up, by its number, in what is stored. %s",
		what, count(len(roomsOf(r.stream))), r.cfg.writers, r.processes(), where)
}

// closing prints the table and the result.
func (r *rehearsal) closing() {
	s := r.screen
	s.rule("What was shown")
	s.line(s.paint(bold, fmt.Sprintf("   %-34s%13s%8s%9s   %s", "run", "acknowledged", "lost", "doubled", "promise")))
	for _, row := range r.rows {
		lost, doubled := "-", "-"
		if row.audited {
			lost, doubled = count(row.lost), count(row.doubled)
		}
		s.line(fmt.Sprintf("   %-34s%13s%8s%9s   %s", row.run, count(row.acked), lost, doubled, s.paint(row.as, row.verdict)))
	}
	s.line("")
	if len(r.broken) > 0 {
		s.say(0, red, "VERDICT: A PROMISE WAS BROKEN.")
		for _, b := range r.broken {
			s.say(3, red, "%s", b)
		}
		r.saved()
		return
	}
	verdict := fmt.Sprintf("VERDICT: behind the proxy, each of the %s updates that lockupdate acknowledged is stored exactly once, "+
		"also through %d stalls.", count(r.lock.audit.Acknowledged+r.guarded.audit.Acknowledged), r.guarded.stalls)
	if lost := len(r.unguarded.audit.Lost); lost > 0 {
		verdict += fmt.Sprintf(" A lock without the guard lost %s of %s.", count(lost), count(r.unguarded.audit.Acknowledged))
	} else {
		verdict += " The control, a lock without the guard, lost nothing this time."
	}
	if !r.cfg.noShadow {
		verdict += " The shadow was quiet where nothing is wrong, and found every planted bug."
	}
	s.say(0, green, "%s", verdict)
	r.saved()
	s.say(0, dim, "%.1f s in all.", time.Since(r.began).Seconds())
}

// saved prints the location of the reports.
func (r *rehearsal) saved() {
	if r.folder != nil && len(r.folder.files) > 0 {
		r.screen.say(0, normal, "Reports of the shadow: %s", r.folder.path)
	}
}

// interrupted prints the progress until the interruption. left is the error of the cleanup, or nil.
func (r *rehearsal) interrupted(left error) {
	s := r.screen
	s.line("")
	s.line(s.paint(yellow, "Interrupted. Done until then:"))
	if len(r.rows) == 0 {
		s.line("   nothing yet")
	}
	for _, row := range r.rows {
		if row.audited {
			s.say(3, normal, "%s%s of %s acknowledged, %s lost, %s doubled",
				fit(row.run, 31), count(row.acked), count(row.of), count(row.lost), count(row.doubled))
		} else {
			s.say(3, normal, "%s%s", fit(row.run, 31), row.verdict)
		}
	}
	r.saved()
	switch {
	case r.stage == nil || !r.stage.real:
	case left != nil:
		s.say(0, red, "%v", left)
	default:
		s.line("All keys of this run were deleted.")
	}
}
