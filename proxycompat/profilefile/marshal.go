package profilefile

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
	want, err := over.Extend(proxycompat.Changes{Name: name, Rules: rules})
	if err != nil {
		return nil, fmt.Errorf("profilefile: not written: %w", err)
	}
	data, err := encode(name, base, rules)
	if err != nil {
		return nil, fmt.Errorf("profilefile: not written: %w", err)
	}
	// No file is better than one that Extend rejects, or reads as another profile.
	if base != nil {
		over = nil
	}
	got, err := Extend(over, "profile.yaml", data)
	if err == nil && !reflect.DeepEqual(got, want) {
		err = errors.New("a text would be read as another one")
	}
	if err != nil {
		return nil, fmt.Errorf("profilefile: not written, for it could not be read: %w", err)
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
		return fmt.Errorf("profilefile: a file cannot name the base %s; give nil, and the base to Extend: %w", base.Name(), err)
	}
	return nil
}

// file is the document that Marshal writes.
type file struct {
	Name     string  `yaml:"name"`
	Base     string  `yaml:"base,omitempty"`
	Commands []entry `yaml:"commands,omitempty"`
}

type entry struct {
	Command any       `yaml:"command,flow"` // one, or a list
	Verdict plainText `yaml:"verdict,omitempty"`
	Why     plainText `yaml:"why,omitempty"`
	Source  plainText `yaml:"source,omitempty"`
	Instead plainText `yaml:"instead,omitempty"`
	Error   plainText `yaml:"error,omitempty"`
	Args    plainText `yaml:"args,omitempty"`
	Route   plainText `yaml:"route,omitempty"`
	Keys    plainText `yaml:"keys,omitempty"`
}

// plainText is a string that is never written as a block scalar: the library does not read some of those again, such
// as one that starts with a tab.
type plainText string

// MarshalYAML implements [yaml.Marshaler].
func (s plainText) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(s)}
	if strings.ContainsFunc(node.Value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node, nil
}

func encode(name string, base *proxycompat.Profile, rules []proxycompat.RuleChange) ([]byte, error) {
	f := file{Name: name}
	load := `profilefile.Load("FILE"),`
	if base == nil {
		load = `profilefile.Extend(base, "FILE", data), base being the profile that it changes,`
	} else {
		f.Base = base.Name()
	}
	for _, r := range rules {
		e := entry{
			Verdict: plainText(r.Verdict), Why: plainText(r.Why), Source: plainText(r.Source), Instead: plainText(r.Instead),
			Error: plainText(r.Error), Args: plainText(r.Args), Route: plainText(r.Route), Keys: plainText(r.Keys),
		}
		if e.Command = r.Commands; len(r.Commands) == 1 {
			e.Command = plainText(r.Commands[0])
		}
		f.Commands = append(f.Commands, e)
	}
	var out bytes.Buffer
	out.WriteString("# What a Redis proxy permits, as what differs from the profile of its base.\n" +
		"# Load it with " + load + " of github.com/unwatch/unwatch/proxycompat/profilefile.\n" +
		"# Editors check it against what profilefile.Schema returns.\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(f)
	return out.Bytes(), errors.Join(err, encoder.Close())
}
