package live

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/rules"
)

// WritePrometheus writes the report in the text format of Prometheus, for a textfile
// collector. Counters are those of the run: with the next one they begin at 0.
func (r *Report) WritePrometheus(w io.Writer) error {
	var p prometheus
	p.metric("migrate_check_refused_commands_total", "counter", "Uses of commands that the proxy does not carry out, by server.")
	for _, f := range r.Findings {
		for _, server := range slices.Sorted(maps.Keys(f.Servers)) {
			uses := float64(f.Servers[server].Uses())
			p.sample(uses, "command", f.Command, "rule", f.Rule, "server", server, "severity", string(f.Severity))
		}
	}
	p.metric("migrate_check_live_uses", "gauge", "Uses that count, of all servers together: what a gate waits for to be 0.")
	p.sample(float64(r.Uses))
	p.metric("migrate_check_live_sampled_uses", "gauge", "Uses that only MONITOR shows, in its sample.")
	for _, f := range r.Findings {
		if f.Sampled > 0 {
			p.sample(float64(f.Sampled), "command", f.Command, "rule", f.Rule, "severity", string(f.Severity))
		}
	}
	p.metric("migrate_check_live_held_clients", "gauge", "Clients subscribed, in MULTI or blocked, at most at one moment.")
	for _, f := range r.Findings {
		if f.Held > 0 {
			p.sample(float64(f.Held), "command", f.Command, "rule", f.Rule, "severity", string(f.Severity))
		}
	}
	p.metric("migrate_check_commands_total", "counter", "All commands in the window, without our own.")
	p.perServer(r.Servers, func(s Server) float64 { return float64(s.Commands) })
	p.metric("migrate_check_live_clients", "gauge", "Connections of clients that were seen.")
	p.perServer(r.Servers, func(s Server) float64 { return float64(s.Clients) })
	p.metric("migrate_check_live_findings", "gauge", "Findings, by severity; notes do not count.")
	for _, severity := range rules.Severities() {
		n := 0
		for _, f := range r.Findings {
			if f.Severity == severity {
				n++
			}
		}
		p.sample(float64(n), "severity", string(severity))
	}
	p.metric("migrate_check_live_window_seconds", "gauge", "How long was looked.")
	p.sample(r.Ended.Sub(r.Began).Seconds())
	p.metric("migrate_check_live_end_timestamp_seconds", "gauge", "When the window ended.")
	p.sample(float64(r.Ended.UnixMilli()) / 1000)
	p.metric("migrate_check_live_verdict", "gauge", "1 of the verdict: clean, findings or incomplete.")
	for _, v := range []Verdict{Clean, Findings, Incomplete} {
		is := 0.0
		if v == r.Verdict {
			is = 1
		}
		p.sample(is, "profile", r.Profile, "verdict", string(v))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

type prometheus struct {
	strings.Builder
	name string
}

func (p *prometheus) metric(name, kind, help string) {
	p.name = name
	p.WriteString(fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind))
}

// perServer has one sample for an address, also if several servers have the same one.
func (p *prometheus) perServer(servers []Server, value func(Server) float64) {
	sums := map[string]float64{}
	for _, s := range servers {
		sums[s.Addr] += value(s)
	}
	for _, addr := range slices.Sorted(maps.Keys(sums)) {
		p.sample(sums[addr], "server", addr)
	}
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (p *prometheus) sample(value float64, labels ...string) {
	p.WriteString(p.name)
	for i := 0; i < len(labels); i += 2 {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		p.WriteString(sep + labels[i] + `="` + labelEscaper.Replace(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		p.WriteString("}")
	}
	p.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}
