// Command scale plays how many processes wait for the same locks, in a model on virtual time that
// uses the schedule of lockupdate itself, and writes docs/results/scale.md to its
// standard output; make scale does that.
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

//go:embed scale.md
var text string

const seed = 1

// loads lists the loads of the page. It plays each with several numbers of processes.
var loads = []struct {
	title string
	keys  int
	trip  time.Duration
	work  time.Duration
}{
	{"One key, round trip 0.2 ms, fn takes no time", 1, 200 * time.Microsecond, 0},
	{"One key, round trip 2 ms, fn takes no time", 1, 2 * time.Millisecond, 0},
	{"One key, round trip 1 ms, fn takes 20 ms", 1, time.Millisecond, 20 * time.Millisecond},
	{"One key, round trip 100 ms, fn takes no time", 1, 100 * time.Millisecond, 0},
	{"10,000 keys by Zipf's law, round trip 0.2 ms, fn takes no time", 10_000, 200 * time.Microsecond, 0},
}

var sizes = []int{4, 16, 128, 1000}

// rounds is how many turns each process would have in the measured time at most.
const rounds = 20

func loadOf(processes, keys int, trip, work time.Duration) load {
	l := load{processes: processes, keys: keys, trip: trip, work: work}
	l.warm = time.Duration(max(5*processes, 100)) * l.cycle()
	l.lasting = time.Duration(rounds*processes) * l.cycle()
	if keys > 1 {
		l.warm, l.lasting = 2*time.Second, 5*time.Second
	}
	return l
}

func main() {
	if err := write(os.Stdout, play()); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// table is the runs of one load, by their number of processes.
type table struct {
	title string
	runs  []figures
}

// play plays all loads. The last table is the negative control.
func play() []table {
	var tables []table
	for _, l := range loads {
		t := table{title: l.title}
		for _, n := range sizes {
			t.runs = append(t.runs, run(loadOf(n, l.keys, l.trip, l.work), seed))
		}
		tables = append(tables, t)
	}
	without := table{title: loads[1].title}
	for _, n := range sizes[:3] {
		l := loadOf(n, 1, loads[1].trip, loads[1].work)
		l.static = true
		without.runs = append(without.runs, run(l, seed))
	}
	return append(tables, without)
}

func write(w io.Writer, tables []table) error {
	var all []string
	for _, t := range tables {
		all = append(all, t.String())
	}
	last := len(all) - 1
	text := strings.NewReplacer("{{tables}}\n", strings.Join(all[:last], ""), "{{without}}\n", all[last]).Replace(text)
	_, err := io.WriteString(w, text)
	return err
}

func (t table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", t.title)
	b.WriteString("| processes | updates/s | polls/s | polls per acquisition | | wait p50 ms | p99 | max | least served |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range t.runs {
		fmt.Fprintf(&b, "| %d | %.1f | %.0f | %.1f | `%s` | %s | %s | %s | %.0f %% |\n", f.processes,
			f.perSecond(f.acquired), f.perSecond(f.polls), f.pollsPerAcquisition(), bar(f.pollsPerAcquisition()),
			ms(f.quantile(0.5)), ms(f.quantile(0.99)), ms(f.quantile(1)), 100*f.least())
	}
	b.WriteString("\n")
	return b.String()
}

func bar(v float64) string { return strings.Repeat("#", min(40, int(2*v+0.5))) }

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
