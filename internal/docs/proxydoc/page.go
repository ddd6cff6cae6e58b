package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/unwatch/unwatch/proxycompat"
)

// page is a file below docs.
type page struct{ name, text string }

//go:embed overview.tmpl
var overviewText string

//go:embed proxy.tmpl
var proxyText string

// columns are the profiles in the overview: Codis first, as the main target of the toolkit. over is the
// most common version of Redis behind each.
func columns() []column {
	return []column{
		{"codis@3.2", "Codis over codis-server 3.2"}, {"codis@7.0", "Codis over Redis 7"}, {"pika", "Pika's Codis"},
		{"twemproxy@7.0", "twemproxy"}, {"predixy@7.0", "predixy, groups"}, {"predixy-single@7.0", "predixy, one group"},
		{"camellia@7.0", "camellia"}, {"envoy-old@7.0", "Envoy 1.14–1.20"}, {"envoy@7.0", "Envoy"},
		{"redis-cluster-proxy@7.0", "redis-cluster-proxy"}, {"cluster@7.0", "Redis Cluster"}, {"alibaba@7.0", "Alibaba proxy"},
	}
}

type column struct{ profile, head string }

// line is a row of the overview: commands of a group with the same rules in all proxies.
type line struct {
	Group    string
	Commands []string
	Verdicts []string
}

// row is a row of a proxy's page.
type row struct {
	Rule     proxycompat.Rule
	Verdict  string
	Commands []string
}

func render() ([]page, error) {
	overview, err := template.New("overview").Funcs(functions()).Parse(overviewText)
	if err != nil {
		return nil, err
	}
	proxy, err := template.New("proxy").Funcs(functions()).Parse(proxyText)
	if err != nil {
		return nil, err
	}
	lines, err := matrix()
	if err != nil {
		return nil, err
	}
	var profiles []*proxycompat.Profile
	for _, name := range proxycompat.Names() {
		p, err := proxycompat.Lookup(name)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	text, err := execute(overview, map[string]any{
		"Columns": columns(), "Lines": lines, "Profiles": profiles, "Commands": len(proxycompat.Commands()),
	})
	if err != nil {
		return nil, err
	}
	pages := []page{{"proxies.md", text}}
	for _, p := range profiles {
		text, err := execute(proxy, map[string]any{"Profile": p, "Rows": rows(p), "Others": p.Others()})
		if err != nil {
			return nil, err
		}
		pages = append(pages, page{"proxies/" + p.Name() + ".md", text})
	}
	return pages, nil
}

func execute(t *template.Template, data any) (string, error) {
	var b strings.Builder
	err := t.Execute(&b, data)
	return b.String(), err
}

func functions() template.FuncMap {
	return template.FuncMap{
		"cell": func(s string) string { return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(s) },
		"join": func(s []string) string { return strings.Join(s, " ") },
		"head": func(c column) string { return c.head },
		"link": func(c column) string {
			base, _, _ := strings.Cut(c.profile, "@")
			return "proxies/" + base + ".md"
		},
		"dash": func(s string) string { return cmp.Or(s, "–") },
	}
}

// matrix returns the commands that services use: no modules, no administration.
func matrix() ([]line, error) {
	var profiles []*proxycompat.Profile
	for _, c := range columns() {
		p, err := proxycompat.Lookup(c.profile)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	var lines []line
	at := map[string]int{}
	for _, c := range proxycompat.Commands() {
		if c.Subcommand() && !spoken(c.Group) || strings.Contains(c.Name, ".") || !slices.Contains(groups(), c.Group) {
			continue
		}
		l := line{Group: c.Group}
		for _, p := range profiles {
			l.Verdicts = append(l.Verdicts, sign(p.Rule(c.Name).Verdict))
		}
		id := l.Group + strings.Join(l.Verdicts, "|")
		i, ok := at[id]
		if !ok {
			i = len(lines)
			at[id] = i
			lines = append(lines, l)
		}
		lines[i].Commands = append(lines[i].Commands, strings.ReplaceAll(c.Name, " ", "\u00a0"))
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Compare(slices.Index(groups(), a.Group), slices.Index(groups(), b.Group))
	})
	return lines, nil
}

// spoken reports whether the subcommands of a group have their own lines: those that clients and scripts
// use.
func spoken(group string) bool { return group == "scripting" || group == "connection" }

func groups() []string {
	return []string{
		"txn", "pubsub", "scripting", "connection", "string", "hash", "generic", "list", "set", "zset", "stream",
		"bitmap", "geo", "hyperloglog", "vector",
	}
}

// sign abbreviates a verdict unambiguously.
func sign(v proxycompat.Verdict) string {
	return map[proxycompat.Verdict]string{
		proxycompat.OK: "ok", proxycompat.Refused: "**R**", proxycompat.Closes: "**X**", proxycompat.OneKey: "1k",
		proxycompat.SameSlot: "chk", proxycompat.Split: "split", proxycompat.Backend: "bk", proxycompat.Misrouted: "**wrong**",
		proxycompat.Unknown: "fwd", proxycompat.HarmsOthers: "**harm**",
	}[v]
}

// rows returns the rules of a profile, with equal ones merged.
func rows(p *proxycompat.Profile) []row {
	var out []row
	at := map[proxycompat.Rule]int{}
	for _, r := range p.Rules() {
		same := proxycompat.Rule{Verdict: r.Verdict, Error: r.Error, Why: r.Why, Instead: r.Instead, Source: r.Source}
		i, ok := at[same]
		if !ok {
			i = len(out)
			at[same] = i
			out = append(out, row{Rule: same, Verdict: r.Verdict.String()})
		}
		out[i].Commands = append(out[i].Commands, r.Command)
	}
	slices.SortStableFunc(out, func(a, b row) int { return cmp.Compare(a.Rule.Verdict, b.Rule.Verdict) })
	for i := range out {
		if text := out[i].Rule.Error; text != "" {
			out[i].Rule.Why += fmt.Sprintf(" (`%s`)", strings.ReplaceAll(text, "`", "'"))
		}
	}
	return out
}
