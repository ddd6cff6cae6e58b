package lab

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/bench/worker"
)

// jiffy is the unit of /proc, on every Linux that Go runs on.
const jiffy = 10 * time.Millisecond

// Load watches what others do on this machine. Without /proc it sees nothing.
type Load struct {
	pids  []int
	began time.Time
	took  time.Duration
	busy  time.Duration // the whole machine
	own   time.Duration // this process and pids
}

// Watch begins to watch.
func (p *Path) Watch() *Load {
	l := &Load{pids: p.pids, began: time.Now()}
	l.busy, l.own = machineBusy(), l.ours()
	return l
}

// Stop ends it.
func (l *Load) Stop() *Load {
	l.took = time.Since(l.began)
	l.busy, l.own = machineBusy()-l.busy, l.ours()-l.own
	return l
}

// Foreign is how many cores others used, on average. workers is the CPU time of
// the worker processes meanwhile.
func (l *Load) Foreign(workers time.Duration) float64 {
	return max(0, float64(l.busy-l.own-workers)/float64(l.took))
}

func (l *Load) ours() time.Duration {
	sum := worker.CPU()
	for _, pid := range l.pids {
		sum += cpuOf(pid)
	}
	return sum
}

// machineBusy is the CPU time of everything, interrupts included: the kernel counts
// those of loopback traffic to the processes as well.
func machineBusy() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseStat(string(text))
}

func parseStat(text string) time.Duration {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0
	}
	return jiffies(fields[1], fields[2], fields[3], fields[6], fields[7])
}

// cpuOf is the CPU time of a process with all its threads.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseProcess(string(text))
}

func parseProcess(text string) time.Duration {
	// The name of the program is in parentheses and may hold anything.
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	if len(fields) < 13 {
		return 0
	}
	return jiffies(fields[11], fields[12])
}

func jiffies(fields ...string) time.Duration {
	var sum time.Duration
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * jiffy
	}
	return sum
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
