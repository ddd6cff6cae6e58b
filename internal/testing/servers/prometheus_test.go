package servers

import (
	"strings"
	"testing"
)

const noTargets = "global: {scrape_interval: 1s}\n"

func TestPrometheusRestarts(t *testing.T) {
	again(t, Prometheus(t, noTargets))
}

// A Prometheus of another folder on the port is not ours, although it answers.
func TestPrometheusTriesAnotherPort(t *testing.T) {
	taken, calls := Prometheus(t, noTargets), 0
	l := prometheusLaunch(t.TempDir(), noTargets)
	l.freePorts = func(n int) ([]int, error) {
		ports, err := freePorts(n)
		if calls++; calls == 1 {
			ports[0] = portOf(t, taken.Addr)
		}
		return ports, err
	}
	if s := use(t, l.start); s.Addr == taken.Addr || calls != 2 {
		t.Fatalf("%d tries, and took %s for ours", calls, s.Addr)
	}
}

func TestPrometheusShowsItsMistake(t *testing.T) {
	Promtool(t) // skips if the package is missing
	_, err := StartPrometheus(t.Context(), t.TempDir(), "scrape_configs: nothing\n")
	if err == nil || !strings.Contains(err.Error(), "cannot unmarshal") {
		t.Fatalf("the error hides the log of the server: %v", err)
	}
}
