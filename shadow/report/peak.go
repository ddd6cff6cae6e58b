package report

import (
	"cmp"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Peak describes the busiest time: a shadow that drops calls under load misses the differences
// that occur under load. A merged Report has the Peak of the worst process.
type Peak struct {
	Busiest Minute `json:"busiest"` // of all minutes since the share of the keys was last changed
	Clear   Minute `json:"clear"`   // the busiest minute without a drop
}

// calls is the number of comparisons, done or missed.
func (m Minute) calls() int64 { return m.Compared + m.NotCompared }

// Add includes a minute that is over.
func (p *Peak) Add(m Minute) {
	if m.calls() > p.Busiest.calls() {
		p.Busiest = m
	}
	if m.Dropped == 0 && m.calls() > p.Clear.calls() {
		p.Clear = m
	}
}

// share is the load of the Clear minute, as a share of the busiest.
func (p Peak) share() float64 { return share(p.Clear.calls(), p.Busiest.calls()) }

// merge keeps the worse of both.
func (p *Peak) merge(other Peak) {
	other.Busiest.At, other.Clear.At = utc(other.Busiest.At), utc(other.Clear.At)
	if other.Busiest.calls() > 0 && (p.Busiest.calls() == 0 || comparePeaks(other, *p) < 0) {
		*p = other
	}
}

func comparePeaks(a, b Peak) int {
	return cmp.Or(cmp.Compare(a.share(), b.share()), compareMinutes(b.Busiest, a.Busiest), compareMinutes(b.Clear, a.Clear))
}

func compareMinutes(a, b Minute) int {
	return cmp.Or(cmp.Compare(a.calls(), b.calls()), cmp.Compare(a.Dropped, b.Dropped), a.At.Compare(b.At),
		cmp.Compare(a.Compared, b.Compared), cmp.Compare(a.Diverged, b.Diverged))
}

// peak is the gate for a busy minute without a drop.
func (j *judgement) peak() {
	p, need := j.report.Peak, max(j.policy.Peak, 0)
	if j.policy.Peak < 0 || len(j.report.Operations) == 0 {
		return
	}
	g := openGate("peak", percentage(p.share())+" of the busiest minute's load without a drop", percentage(need))
	switch {
	case p.Busiest.calls() == 0:
		g.Have = "no minute"
		g.wait("no minute of traffic was seen yet: see that Config.Off is false")
	case p.share() < need:
		g.wait("at %s, of %s, %s; raise Config.QueueCalls, Config.Workers or Config.Rate, or lower Config.Percent, and wait for the next peak",
			p.Busiest.At.Format("15:04"), wrap.Counted(p.Busiest.calls(), "comparison"), wrap.Counted(p.Busiest.Dropped, "drop"))
	}
	j.add(p.share()/need, g)
}
