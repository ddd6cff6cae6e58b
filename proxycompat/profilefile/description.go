package profilefile

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/unwatch/unwatch/proxycompat"
)

// description holds the values of a file and the YAML nodes that they were read from.
type description struct {
	node    *yaml.Node
	at      map[string]*yaml.Node // the values by key
	base    string
	adrift  bool // the base is unknown
	changes proxycompat.Changes
	rules   []rule
}

func readDescription(found *problems, root *yaml.Node) *description {
	d := &description{node: root}
	d.at = readMapping(found, root, "a profile", descriptionFields(), d)
	for _, r := range d.rules {
		d.changes.Rules = append(d.changes.Rules, r.change)
	}
	if d.at["closes"] != nil && d.at["refusal"] != nil {
		found.add(place(d.at["closes"]), "closes and refusal exclude each other: it answers a refused command, or it does not")
	}
	return d
}

// descriptionFields lists the keys of a file. profile.schema.json has the same list.
func descriptionFields() []field[description] {
	return []field[description]{
		{key: "name", need: "how the profile is called, one word in lower case",
			read: into(func(d *description) *string { return &d.changes.Name }, text)},
		{key: "title", read: into(func(d *description) *string { return &d.changes.Title }, text)},
		{key: "about", read: into(func(d *description) *string { return &d.changes.About }, text)},
		{key: "base", read: into(func(d *description) *string { return &d.base }, text)},
		{key: "backend", read: into(func(d *description) *string { return &d.changes.Backend }, word)},
		{key: "refusal", read: into(func(d *description) *string { return &d.changes.Refusal }, refusal)},
		{key: "closes", read: closes},
		{key: "hash", read: into(func(d *description) *string { return &d.changes.Hash }, text)},
		{key: "hashTag", read: into(func(d *description) *string { return &d.changes.HashTag }, text)},
		{key: "idle", read: func(found *problems, v *yaml.Node, d *description) { d.changes.Idle = duration(found, v) }},
		{key: "clients", read: func(found *problems, v *yaml.Node, d *description) { d.changes.Clients = count(found, v) }},
		{key: "commands", read: readRules},
		// Editors find the schema of a JSON file by this key.
		{key: "$schema", read: func(found *problems, v *yaml.Node, _ *description) { text(found, v) }},
	}
}

func refusal(found *problems, node *yaml.Node) string {
	s := text(found, node)
	if s == "-" {
		found.add(place(node), "closes: true is how to say that it closes the connection")
	}
	return s
}

// closes sets Changes.Refusal to "-", a value that is not readable in a file.
func closes(found *problems, node *yaml.Node, d *description) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" || !strings.EqualFold(node.Value, "true") {
		found.add(place(node), "this can only be true: of a proxy that answers, give the text as refusal")
		return
	}
	d.changes.Refusal = "-"
}
