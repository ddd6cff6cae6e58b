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

// columns are the profiles in the overview, except plain Redis, which permits everything. Codis is the first, as the main
// target of the toolkit.
func columns() ([]column, error) {
	names := slices.DeleteFunc(proxycompat.Names(), func(name string) bool { return name == "redis" })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	var all []column
	for _, name := range names {
		for _, version := range versions(name) {
			p, err := proxycompat.Lookup(name)
			if err != nil {
				return nil, err
			}
			c := column{base: name, head: p.Title(), profile: p}
			if version != "" {
				if c.profile, err = p.Over(version); err != nil {
					return nil, err
				}
			}
			if len(versions(name)) > 1 {
				c.head += " over Redis " + version
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func rank(name string) int {
	if name == "codis" {
		return 0
	}
	return 1
}

// versions are the common versions of Redis behind a proxy.
func versions(name string) []string {
	switch name {
	case "codis":
		return []string{"3.2", "7.0"}
	case "pika":
		return []string{""} // in front of Pika only
	}
	return []string{"7.0"}
}

type column struct {
	base, head string
	profile    *proxycompat.Profile
}

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
	columns, err := columns()
	if err != nil {
		return nil, err
	}
	lines := matrix(columns)
	var profiles []*proxycompat.Profile
	for _, name := range proxycompat.Names() {
		p, err := proxycompat.Lookup(name)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	text, err := execute(overview, map[string]any{
		"Columns": columns, "Lines": lines, "Profiles": profiles, "Commands": len(proxycompat.Commands()),
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
		"link": func(c column) string { return "proxies/" + c.base + ".md" },
		"dash": func(s string) string { return cmp.Or(s, "–") },
	}
}

// matrix returns the commands that services use: no modules, no administration.
func matrix(columns []column) []line {
	var lines []line
	at := map[string]int{}
	for _, c := range proxycompat.Commands() {
		if c.Subcommand() && !spoken(c.Group) || strings.Contains(c.Name, ".") || !slices.Contains(groups(), c.Group) {
			continue
		}
		l := line{Group: c.Group}
		for _, column := range columns {
			l.Verdicts = append(l.Verdicts, sign(column.profile.Rule(c.Name).Verdict))
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
	return lines
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
