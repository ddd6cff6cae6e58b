package lab

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/bench/internal/worker"
)

// jiffy is the unit of CPU time in /proc on Linux.
const jiffy = 10 * time.Millisecond

// Load measures the CPU use of other processes. Without /proc it measures nothing.
type Load struct {
	pids  []int
	began time.Time
	took  time.Duration
	busy  time.Duration // of the whole machine
	own   time.Duration // of this process and pids
}

// Watch starts a measurement.
func (p *Path) Watch() *Load {
	l := &Load{pids: p.pids, began: time.Now()}
	l.busy, l.own = machineBusy(), l.ours()
	return l
}

// Stop ends the measurement.
func (l *Load) Stop() *Load {
	l.took = time.Since(l.began)
	l.busy, l.own = machineBusy()-l.busy, l.ours()-l.own
	return l
}

// Foreign returns the average number of cores that other processes used. workers is the CPU time of
// the worker processes in that time.
func (l *Load) Foreign(workers time.Duration) float64 {
	return max(0, float64(l.busy-l.own-workers)/float64(l.took))
}

func (l *Load) ours() time.Duration {
	sum := worker.CPU()
	for _, pid := range l.pids {
		sum += cpuOf(pid)
		for _, child := range children(pid) { // PostgreSQL has a process for each connection
			sum += cpuOf(child)
		}
	}
	return sum
}

// children returns the processes that a process has started and not yet waited for.
func children(pid int) (pids []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// machineBusy returns the CPU time of the machine. It includes interrupts, since the kernel charges
// loopback interrupts to processes too.
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

// cpuOf returns the CPU time of a process with all its threads.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseProcess(string(text))
}

func parseProcess(text string) time.Duration {
	// The program name is in parentheses and may contain blanks.
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
