package live

import (
	"io"
	"maps"
	"slices"

	"github.com/unwatch/unwatch/internal/exposition"
	"github.com/unwatch/unwatch/internal/rules"
)

// WritePrometheus writes the report in the text format of Prometheus, for a textfile collector.
// Every run starts its counters at 0.
func (r *Report) WritePrometheus(w io.Writer) error {
	var families []*exposition.Family
	add := func(name, kind, labels, help string) *exposition.Family {
		f := &exposition.Family{Name: name, Kind: kind, Labels: labels, Help: help}
		families = append(families, f)
		return f
	}
	refused := add("migrate_check_refused_commands_total", exposition.Counter, "command rule server severity",
		"Uses of commands that the proxy does not carry out, by server.")
	add("migrate_check_live_uses", exposition.Gauge, "", "Uses that count, of all servers together. They are 0 after the migration.").Add(r.Uses)
	sampled := add("migrate_check_live_sampled_uses", exposition.Gauge, "command rule severity",
		"Uses that only MONITOR shows, in its sample.")
	held := add("migrate_check_live_held_clients", exposition.Gauge, "command rule severity",
		"Clients subscribed, in MULTI or blocked, at most at one moment.")
	commands := add("migrate_check_commands_total", exposition.Counter, "server", "All commands in the window, without our own.")
	clients := add("migrate_check_live_clients", exposition.Gauge, "server", "Connections of clients that were seen.")
	findings := add("migrate_check_live_findings", exposition.Gauge, "severity", "Findings, by severity; notes do not count.")
	for _, severity := range rules.Severities() {
		findings.Add(0, string(severity))
	}
	for _, f := range r.Findings {
		severity := string(f.Severity)
		for _, server := range slices.Sorted(maps.Keys(f.Servers)) {
			refused.Add(f.Servers[server].Uses(), f.Command, f.Rule, server, severity)
		}
		if f.Sampled > 0 {
			sampled.Add(f.Sampled, f.Command, f.Rule, severity)
		}
		if f.Held > 0 {
			held.Add(int64(f.Held), f.Command, f.Rule, severity)
		}
		findings.Add(1, severity)
	}
	for _, s := range r.Servers { // several may have one address
		commands.Add(s.Commands, s.Addr)
		clients.Add(int64(s.Clients), s.Addr)
	}
	add("migrate_check_live_window_seconds", exposition.Gauge, "", "How long was looked.").Least(r.Ended.Sub(r.Began).Seconds())
	add("migrate_check_live_end_timestamp_seconds", exposition.Gauge, "", "When the window ended.").At(r.Ended)
	verdict := add("migrate_check_live_verdict", exposition.Gauge, "profile verdict", "1 of the verdict: clean, findings or incomplete.")
	for _, v := range []Verdict{Clean, Findings, Incomplete} {
		verdict.Flag(r.Verdict == v, r.Profile, string(v))
	}
	return exposition.Write(w, families...)
}
