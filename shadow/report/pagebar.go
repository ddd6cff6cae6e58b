package report

import (
	"fmt"

	"github.com/unwatch/unwatch/internal/htmlpage"
	"github.com/unwatch/unwatch/internal/wrap"
)

// pageBar shows the calls of a comparator as a bar.
type pageBar struct {
	Name, What string

	Sum   string // whether the counts add up
	Mark  State
	Desc  string
	Parts []htmlpage.Part
}

func (p *page) Bars() (bars []pageBar) {
	for _, c := range Comparators() {
		if t, ok := p.Totals[c]; ok {
			bars = append(bars, newPageBar(c, t, p.unbalanced(c)))
		}
	}
	return bars
}

func newPageBar(c Comparator, t Tally, unbalanced []string) pageBar {
	bar := pageBar{Name: pageComparator(c), Mark: Ready, Sum: "Adds up", What: map[Comparator]string{
		Seeded: "the same input for both: do they compute and store the same?",
		Free:   "with all contention: is any commit lost, or applied twice?",
	}[c]}
	if len(unbalanced) > 0 {
		bar.Mark, bar.Sum = NotReady, "Does not add up. "+wrap.First(unbalanced)
	}
	missed, excused := t.missed()
	whole := max(t.Eligible, t.Compared+t.InFlight+missed+excused, 1)
	bar.Parts = htmlpage.Parts(whole, []int64{t.Compared, t.InFlight, missed, excused},
		[]string{"compared", "inflight", "missed", "excused"})
	bar.Desc = fmt.Sprintf("%s of %s calls compared, %s in flight, %s missed, %s excused",
		wrap.Grouped(t.Compared), wrap.Grouped(t.Eligible), wrap.Grouped(t.InFlight), wrap.Grouped(missed), wrap.Grouped(excused))
	return bar
}
