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

// embedded returns the profiles of package proxycompat.
func embedded() ([]*proxycompat.Profile, error) {
	var profiles []*proxycompat.Profile
	for _, name := range proxycompat.Names() {
		p, err := proxycompat.Lookup(name)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// behind has the versions of Redis behind a proxy, if they are not 7.0 alone.
var behind = map[string][]string{
	"codis": {"3.2", "7.0"},
	"pika":  {""}, // in front of Pika only
}

// columns has one or more columns for each profile except plain Redis, which permits everything. Codis, the main target of
// the toolkit, comes first.
func columns(profiles []*proxycompat.Profile) ([]column, error) {
	var codis, others []column
	for _, p := range profiles {
		if p.Name() == "redis" {
			continue
		}
		versions, ok := behind[p.Name()]
		if !ok {
			versions = []string{"7.0"}
		}
		for _, version := range versions {
			c := column{base: p.Name(), head: p.Title(), profile: p}
			if version != "" {
				var err error
				if c.profile, err = p.Over(version); err != nil {
					return nil, err
				}
			}
			if len(versions) > 1 {
				c.head += " over Redis " + version
			}
			if p.Name() == "codis" {
				codis = append(codis, c)
			} else {
				others = append(others, c)
			}
		}
	}
	return append(codis, others...), nil
}

type column struct {
	base, head string
	profile    *proxycompat.Profile
}

// line is a row of the overview: commands with the same verdicts.
type line struct {
	Commands []string
	Verdicts []string
}

// row is a row of a proxy's page.
type row struct {
	Rule     proxycompat.Rule
	Verdict  string
	Commands []string
}

func render(profiles []*proxycompat.Profile) ([]page, error) {
	overview, err := template.New("overview").Funcs(functions()).Parse(overviewText)
	if err != nil {
		return nil, err
	}
	proxy, err := template.New("proxy").Funcs(functions()).Parse(proxyText)
	if err != nil {
		return nil, err
	}
	columns, err := columns(profiles)
	if err != nil {
		return nil, err
	}
	everywhere, nowhere, lines := matrix(columns)
	text, err := execute(overview, map[string]any{
		"Columns": columns, "Everywhere": everywhere, "Nowhere": nowhere, "Lines": lines,
		"Profiles": profiles, "Commands": len(proxycompat.Commands()),
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
		"list": func(s []string) string { return strings.Join(s, ", ") },
		"head": func(c column) string { return c.head },
		"link": func(c column) string { return "proxies/" + c.base + ".md" },
		"dash": func(s string) string { return cmp.Or(s, "–") },
	}
}

// matrix returns the commands that services use: no modules, no administration. Commands with one verdict in all columns, ok
// or refused, need no line.
func matrix(columns []column) (everywhere, nowhere []string, lines []line) {
	at := map[string]int{}
	for _, c := range commands() {
		name := strings.ReplaceAll(c.Name, " ", "\u00a0")
		var l line
		ok, refused := true, true
		for _, column := range columns {
			v := column.profile.Rule(c.Name).Verdict
			ok = ok && v == proxycompat.OK
			refused = refused && (v == proxycompat.Refused || v == proxycompat.Closes)
			l.Verdicts = append(l.Verdicts, sign(v))
		}
		if ok {
			everywhere = append(everywhere, name)
			continue
		}
		if refused {
			nowhere = append(nowhere, name)
			continue
		}
		id := strings.Join(l.Verdicts, "|")
		i, known := at[id]
		if !known {
			i = len(lines)
			at[id] = i
			lines = append(lines, l)
		}
		lines[i].Commands = append(lines[i].Commands, name)
	}
	return everywhere, nowhere, lines
}

// commands returns the commands of the overview, by group.
func commands() []proxycompat.Command {
	all := slices.DeleteFunc(slices.Clone(proxycompat.Commands()), func(c proxycompat.Command) bool {
		return c.Subcommand() && !spoken(c.Group) || strings.Contains(c.Name, ".") || !slices.Contains(groups(), c.Group)
	})
	slices.SortStableFunc(all, func(a, b proxycompat.Command) int {
		return cmp.Compare(slices.Index(groups(), a.Group), slices.Index(groups(), b.Group))
	})
	return all
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
