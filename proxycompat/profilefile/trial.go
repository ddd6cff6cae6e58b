package profilefile

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/unwatch/unwatch/proxycompat"
)

// try lets package proxycompat validate the values one by one. Extend would report only the first invalid
// one, without its position. Empty values are missing, or were reported.
func (d *description) try(found *problems, base *proxycompat.Profile) {
	c := d.changes
	name, _, _ := strings.Cut(base.Name(), "@") // some errors contain the name
	d.attempt(found, base, "name", c.Name, proxycompat.Changes{Name: c.Name})
	d.attempt(found, base, "backend", c.Backend, proxycompat.Changes{Name: name, Backend: c.Backend})
	hashed := d.attempt(found, base, "hash", c.Hash, proxycompat.Changes{Name: name, Hash: c.Hash})
	if hashed && (!d.adrift || c.Hash != "") {
		d.attempt(found, base, "hashTag", c.HashTag, proxycompat.Changes{Name: name, Hash: c.Hash, HashTag: c.HashTag})
	}
	var all trials
	for _, r := range d.rules {
		all.of(r)
	}
	all.run(found, base)
}

// attempt reports whether base accepts the change. If not, it reports the error for the value of key.
func (d *description) attempt(found *problems, base *proxycompat.Profile, key, value string, c proxycompat.Changes) bool {
	if value == "" {
		return true
	}
	_, err := base.Extend(c)
	if err != nil {
		found.add(place(d.at[key]), "%w", plain(err))
	}
	return err == nil
}

// trials are rules with a single unverified value each, and the positions of these values.
type trials struct {
	changes []proxycompat.RuleChange
	nodes   []*yaml.Node
}

func (t *trials) of(r rule) {
	for i, node := range r.commands {
		t.add(node, r.change.Commands[i], func(c *proxycompat.RuleChange, value string) { c.Commands = []string{value} })
	}
	t.add(r.at["args"], r.change.Args, func(c *proxycompat.RuleChange, value string) { c.Args = value })
	t.add(r.at["route"], r.change.Route, func(c *proxycompat.RuleChange, value string) { c.Route = value })
	t.add(r.at["keys"], r.change.Keys, func(c *proxycompat.RuleChange, value string) { c.Keys = value })
}

func (t *trials) add(node *yaml.Node, value string, set func(*proxycompat.RuleChange, string)) {
	if value == "" {
		return
	}
	c := proxycompat.RuleChange{
		Commands: []string{"TRIAL"}, Verdict: proxycompat.OK.String(), Why: "a trial", Source: "a trial",
	}
	set(&c, value)
	t.changes, t.nodes = append(t.changes, c), append(t.nodes, node)
}

// run tries all rules at once, and after an invalid one the rest, so that the time is linear in their
// number.
func (t *trials) run(found *problems, base *proxycompat.Profile) {
	for start := 0; start < len(t.changes); {
		_, err := base.Extend(proxycompat.Changes{Name: "trial", Rules: t.changes[start:]})
		var bad *proxycompat.RuleError
		if !errors.As(err, &bad) || start+bad.Index >= len(t.nodes) {
			return
		}
		found.add(place(t.nodes[start+bad.Index]), "%w", plain(bad.Err))
		start += bad.Index + 1
	}
}
