package custom

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/unwatch/unwatch/proxycompat"
)

// Marshal returns the YAML file of a profile with these rules over base. [Extend] reads it back as
// base.Extend(rules).
//
// With a nil base the file names none, and the reader has to supply one. A file can only name a base that
// [proxycompat.Lookup] knows; any other, such as a result of Extend, is an error. Marshal also returns an
// error for input that Extend rejects: an invalid rule (a [*proxycompat.RuleError]), two rules for one
// command, and text that is not UTF-8.
func Marshal(name string, base *proxycompat.Profile, rules []proxycompat.RuleChange) ([]byte, error) {
	over := base
	if base == nil {
		over = proxycompat.Redis()
	} else if err := nameable(base); err != nil {
		return nil, err
	}
	if _, err := over.Extend(proxycompat.Changes{Name: name, Rules: rules}); err != nil {
		return nil, fmt.Errorf("custom: not written: %w", err)
	}
	data, err := encode(document(name, base, rules))
	if err != nil {
		return nil, fmt.Errorf("custom: not written: %w", err)
	}
	// No file is better than one that Extend rejects.
	if base != nil {
		over = nil
	}
	if _, err := Extend(over, "profile.yaml", data); err != nil {
		return nil, fmt.Errorf("custom: not written, for it could not be read: %w", err)
	}
	return data, nil
}

// nameable returns an error if the name of base in a file would mean another profile.
func nameable(base *proxycompat.Profile) error {
	named, err := proxycompat.Lookup(base.Name())
	if err == nil && !reflect.DeepEqual(named, base) {
		err = errors.New("it was changed since Lookup returned it")
	}
	if err != nil {
		return fmt.Errorf("custom: a file cannot name the base %s; give nil, and the base to Extend: %w", base.Name(), err)
	}
	return nil
}

func encode(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

func document(name string, base *proxycompat.Profile, rules []proxycompat.RuleChange) *yaml.Node {
	root := &yaml.Node{Kind: yaml.MappingNode}
	put(root, "name", name)
	load := `custom.Load("FILE"),`
	if base == nil {
		load = `custom.Extend(base, "FILE", data), base being the profile that it changes,`
	} else {
		put(root, "base", base.Name())
	}
	root.HeadComment = "# What a Redis proxy permits, as what differs from the profile of its base.\n" +
		"# Load it with " + load + " of github.com/unwatch/unwatch/proxycompat/custom.\n" +
		"# Editors check it against what custom.Schema returns."
	if len(rules) == 0 {
		return root
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, r := range rules {
		list.Content = append(list.Content, entry(r))
	}
	root.Content = append(root.Content, scalarOf("commands"), list)
	return root
}

func entry(r proxycompat.RuleChange) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	if len(r.Commands) == 1 {
		put(node, "command", r.Commands[0])
	} else {
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, c := range r.Commands {
			list.Content = append(list.Content, scalarOf(c))
		}
		node.Content = append(node.Content, scalarOf("command"), list)
	}
	for _, f := range [][2]string{
		{"verdict", r.Verdict}, {"why", r.Why}, {"source", r.Source}, {"instead", r.Instead},
		{"error", r.Error}, {"args", r.Args}, {"route", r.Route}, {"keys", r.Keys},
	} {
		if f[1] != "" {
			put(node, f[0], f[1])
		}
	}
	return node
}

func put(mapping *yaml.Node, key, value string) {
	mapping.Content = append(mapping.Content, scalarOf(key), scalarOf(value))
}

// scalarOf quotes a text that a block scalar would change, such as a line with a trailing blank. The
// library quotes the others as needed.
func scalarOf(s string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}
