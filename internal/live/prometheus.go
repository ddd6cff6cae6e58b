package live

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/rules"
)

// WritePrometheus writes the report in the text format of Prometheus, for a textfile collector.
// Every run starts its counters at 0.
func (r *Report) WritePrometheus(w io.Writer) error {
	var p prometheus
	byFinding := func(value func(f Finding) float64) {
		for _, f := range r.Findings {
			if v := value(f); v > 0 {
				p.sample(v, "command", f.Command, "rule", f.Rule, "severity", string(f.Severity))
			}
		}
	}
	byServer := func(value func(Server) float64) {
		sums := map[string]float64{} // several servers may have one address
		for _, s := range r.Servers {
			sums[s.Addr] += value(s)
		}
		for _, addr := range slices.Sorted(maps.Keys(sums)) {
			p.sample(sums[addr], "server", addr)
		}
	}
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
	byFinding(func(f Finding) float64 { return float64(f.Sampled) })
	p.metric("migrate_check_live_held_clients", "gauge", "Clients subscribed, in MULTI or blocked, at most at one moment.")
	byFinding(func(f Finding) float64 { return float64(f.Held) })
	p.metric("migrate_check_commands_total", "counter", "All commands in the window, without our own.")
	byServer(func(s Server) float64 { return float64(s.Commands) })
	p.metric("migrate_check_live_clients", "gauge", "Connections of clients that were seen.")
	byServer(func(s Server) float64 { return float64(s.Clients) })
	p.metric("migrate_check_live_findings", "gauge", "Findings, by severity; notes do not count.")
	bySeverity := map[rules.Severity]float64{}
	for _, f := range r.Findings {
		bySeverity[f.Severity]++
	}
	for _, severity := range rules.Severities() {
		p.sample(bySeverity[severity], "severity", string(severity))
	}
	p.metric("migrate_check_live_window_seconds", "gauge", "How long was looked.")
	p.sample(r.Ended.Sub(r.Began).Seconds())
	p.metric("migrate_check_live_end_timestamp_seconds", "gauge", "When the window ended.")
	p.sample(float64(r.Ended.UnixMilli()) / 1000)
	p.metric("migrate_check_live_verdict", "gauge", "1 of the verdict: clean, findings or incomplete.")
	is := map[Verdict]float64{r.Verdict: 1}
	for _, v := range []Verdict{Clean, Findings, Incomplete} {
		p.sample(is[v], "profile", r.Profile, "verdict", string(v))
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
	p.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes a sample of the current metric. Labels are names and values in turn.
func (p *prometheus) sample(value float64, labels ...string) {
	var pairs []string
	for pair := range slices.Chunk(labels, 2) {
		pairs = append(pairs, pair[0]+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(pair[1])+`"`)
	}
	p.WriteString(p.name)
	if len(pairs) > 0 {
		p.WriteString("{" + strings.Join(pairs, ",") + "}")
	}
	p.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}
