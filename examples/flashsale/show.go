package main

import (
	"fmt"
	"strings"
	"time"
)

// show prints what came of a round.
func (f *flashsale) show(r *round) {
	s, t := f.screen, addUp(r.plan, r.receipts)
	if !r.finished && t.answered == 0 {
		return // interrupted before it began
	}
	s.text("", normal, "")
	s.text("", bold, "%s", map[string]string{
		naiveRound:   "NAIVE: GET, think, SET",
		unwatchRound: "UNWATCH: the same in one Update of a lockupdate.Store",
	}[r.name])
	if !r.finished {
		s.item("unfinished", yellow, "%s of %s orders were answered", count(t.answered), count(demand*r.plan.Stock))
	}
	if r.audited {
		f.showAudit(r)
	}
	s.item("refused", normal, "%s sold out, %s bought before; nothing was written for them",
		count(t.fates[soldOut]), count(t.fates[boughtBefore]))
	if n := t.fates[failed] + t.fates[unclear]; n > 0 {
		s.item("errors", yellow, "%s failed, %s unclear; the first: %s", count(t.fates[failed]), count(t.fates[unclear]), t.firstError)
	}
	s.item("attempts", normal, "%s for %s orders", count(t.computed), count(t.answered))
	aside := "nobody waits for anybody"
	if r.name == unwatchRound {
		aside = fmt.Sprintf("one after the other, %.2f s of it thinking", t.thought.Seconds())
	}
	s.item("speed", normal, "%s orders/s, %.2f s in all; %s",
		count(int(float64(t.answered)/max(r.took.Seconds(), 1e-9))), r.took.Seconds(), aside)
	s.item("wait", normal, "p50 %s, p95 %s, max %s", millis(t.quantile(0.5)), millis(t.quantile(0.95)), millis(t.quantile(1)))
	s.item("fairness", normal, "sold by each process: %s; the least is %.0f%% of the most", list(t.perProcess), 100*t.fairness())
}

// showAudit prints what is stored, compared with what the buyers were told.
func (f *flashsale) showAudit(r *round) {
	s, a := f.screen, r.audit
	verdict, look := "no two saw the same stock, none below zero", green
	switch {
	case a.Oversold > 0:
		verdict, look = "OVERSOLD BY "+count(a.Oversold), red
	case a.SameItem > 0 || a.Negative:
		verdict, look = count(a.SameItem)+" SAW THE STOCK OF ANOTHER", red
	}
	s.item("sold", look, "%s of %s items; %s", count(a.Sold), count(r.plan.Stock), verdict)
	verdict, look = "every sold order, once", green
	if n, m := len(a.Lost), len(a.Doubled)+len(a.Phantom); n+m > 0 {
		verdict, look = count(n)+" SOLD ORDERS ARE MISSING", red
		if m > 0 {
			verdict += fmt.Sprintf(", %s TOO MANY", count(m))
		}
	}
	s.item("stored", look, "%s orders, %s items left; %s", count(len(r.stored.Orders)), count(r.stored.Left), verdict)
	verdict, look = "no buyer has bought twice", green
	if n := len(a.Twice); n > 0 {
		verdict, look = count(n)+" HAVE BOUGHT TWICE", red
	}
	s.item("buyers", look, "%s of them click twice; %s", count(r.plan.clickedTwice()), verdict)
}

func list(numbers []int) string {
	var out []string
	for _, n := range numbers {
		out = append(out, count(n))
	}
	return strings.Join(out, ", ")
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
