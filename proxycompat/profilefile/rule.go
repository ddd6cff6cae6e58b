package profilefile

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/unwatch/unwatch/proxycompat"
)

// rule holds one entry of commands and the YAML nodes that it was read from.
type rule struct {
	node     *yaml.Node
	at       map[string]*yaml.Node // the values by key
	commands []*yaml.Node
	change   proxycompat.RuleChange
}

func readRules(found *problems, node *yaml.Node, d *description) {
	if node.Kind != yaml.SequenceNode {
		found.add(place(node), "commands has to be a list of rules, and this is %s", kind(node))
		return
	}
	seen := map[string]int{}
	for _, entry := range node.Content {
		r := rule{node: entry}
		r.at = readMapping(found, entry, "a rule", ruleFields(), &r)
		for i, n := range r.commands {
			name := strings.ToUpper(strings.TrimSpace(r.change.Commands[i]))
			switch first, again := seen[name]; {
			case name == "":
			case again:
				found.add(place(n), "a second rule for %s, the first is in line %d", quoted(name), first)
			default:
				seen[name] = n.Line
			}
		}
		d.rules = append(d.rules, r)
	}
}

// ruleFields lists the keys of a rule. profile.schema.json has the same list.
func ruleFields() []field[rule] {
	return []field[rule]{
		{key: "command", need: "say which the rule is for",
			read: func(found *problems, v *yaml.Node, r *rule) { r.change.Commands, r.commands = texts(found, v) }},
		{key: "verdict", need: "name the effect of the proxy on the command",
			read: into(func(r *rule) *string { return &r.change.Verdict }, verdict)},
		{key: "why", need: "say why the command differs", read: into(func(r *rule) *string { return &r.change.Why }, text)},
		{key: "source", need: "name the observer and the date", read: into(func(r *rule) *string { return &r.change.Source }, text)},
		{key: "instead", read: into(func(r *rule) *string { return &r.change.Instead }, text)},
		{key: "error", read: into(func(r *rule) *string { return &r.change.Error }, text)},
		{key: "args", read: into(func(r *rule) *string { return &r.change.Args }, word)},
		{key: "route", read: into(func(r *rule) *string { return &r.change.Route }, word)},
		{key: "keys", read: into(func(r *rule) *string { return &r.change.Keys }, word)},
	}
}

func verdict(found *problems, node *yaml.Node) string {
	s := text(found, node)
	if _, err := proxycompat.ParseVerdict(s); s != "" && err != nil {
		known := verdicts()
		found.add(place(node), "unknown verdict %s, known are %s", quoted(s), strings.Join(known, ", "))
	}
	return s
}

func verdicts() []string {
	var words []string
	for v := proxycompat.OK; ; v++ {
		word := v.String()
		if _, err := proxycompat.ParseVerdict(word); err != nil {
			return words
		}
		words = append(words, word)
	}
}
