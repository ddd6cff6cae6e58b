package report

import (
	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

// Figure is a chart and its file name.
type Figure struct {
	Name  string
	Chart Chart
}

// Figures returns the charts of a run.
func Figures(f *result.File) []Figure {
	tables := map[string]Table{}
	for _, t := range Tables(f) {
		tables[t.Scenario.Name] = t
	}
	var list []Figure
	add := func(name, title, plain, slow string) {
		a, b := tables[plain], tables[slow]
		if len(a.Rows)+len(b.Rows) == 0 {
			return
		}
		series := []string{"loopback", "+1 ms each way"}
		if slow == "" {
			series = []string{"behind twemproxy, loopback"}
		}
		c := Chart{Title: title, Unit: "updates/s", Log: true, Series: series}
		for _, impl := range peers.Names() {
			item := Item{Label: impl, Ours: peers.Ours(impl)}
			known := false
			for _, t := range []Table{a, b}[:len(series)] {
				bar, note := stats.Spread{}, ""
				for _, r := range t.Rows {
					if r.Impl == impl {
						known = true
						bar, note = r.Rate, noteOf(&r)
					}
				}
				item.Bars, item.Notes = append(item.Bars, bar), append(item.Notes, note)
			}
			if known {
				c.Items = append(c.Items, item)
			}
		}
		list = append(list, Figure{name, c})
	}
	add("same-key", "One goroutine, the same key again and again", "unc1", "d-unc1")
	add("distinct-8", "Distinct keys, 8 goroutines", "unc8", "d-unc8")
	add("distinct-64", "Distinct keys, 64 goroutines", "unc64", "d-unc64")
	add("hot-1x64", "One hot key, 1 process x 64 goroutines", "hot64", "d-hot64")
	add("hot-4x16", "One hot key, 4 processes x 16 goroutines", "hot4x16", "d-hot4x16")
	add("proxy-hot-1x64", "One hot key behind a proxy, 1 process x 64 goroutines", "p-hot64", "")
	return append(list, holdFigures(f)...)
}

func noteOf(r *Row) string {
	switch {
	case r.Refused != "":
		return "refused"
	case r.Crashed != "":
		return "crashed"
	}
	return ""
}

// holdFigures returns a chart of CPU and one of memory, for all numbers of locks.
func holdFigures(f *result.File) []Figure {
	cpu := Chart{Title: "Held locks, lease 20 s: CPU of the client", Unit: "% of a core"}
	redis := Chart{Title: "Held locks, lease 20 s: CPU of Redis", Unit: "% of a core"}
	memory := Chart{Title: "Held locks, lease 20 s: memory of the client", Unit: "MB", Log: true}
	var all []*Chart
	for _, c := range []*Chart{&cpu, &redis, &memory} {
		c.Series = []string{"10,000 locks", "100,000 locks"}
		all = append(all, c)
	}
	known := false
	for _, keeper := range peers.Keepers() {
		for i, get := range []func(*result.Hold) float64{
			func(h *result.Hold) float64 { return 100 * h.ClientShare() },
			func(h *result.Hold) float64 { return 100 * h.RedisShare() },
			(*result.Hold).Megabytes,
		} {
			item := Item{Label: keeper, Ours: peers.Ours(keeper)}
			for _, scenario := range []string{"hold10k", "hold100k"} {
				holds := f.HoldsOf(scenario, keeper)
				known = known || len(holds) > 0
				item.Bars = append(item.Bars, stats.By(holds, get))
			}
			all[i].Items = append(all[i].Items, item)
		}
	}
	if !known {
		return nil
	}
	return []Figure{{"held-client-cpu", cpu}, {"held-redis-cpu", redis}, {"held-memory", memory}}
}
