package profilefile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// field is one key of a mapping.
type field[T any] struct {
	key  string
	read func(found *problems, value *yaml.Node, into *T)
	need string // the error if the key is missing; empty: the key is optional
}

// into returns a read for a field that is one string of a T.
func into[T any](target func(*T) *string, read func(*problems, *yaml.Node) string) func(*problems, *yaml.Node, *T) {
	return func(found *problems, value *yaml.Node, t *T) { *target(t) = read(found, value) }
}

// readMapping reads a mapping into a T and returns the values by key. It ignores the second of two equal
// keys.
func readMapping[T any](found *problems, node *yaml.Node, what string, fields []field[T], into *T) map[string]*yaml.Node {
	if node.Kind != yaml.MappingNode {
		found.add(place(node), "%s has to be a mapping of keys to values, and this is %s", what, kind(node))
		return nil
	}
	values, lines := map[string]*yaml.Node{}, map[string]int{}
	byKey := map[string]field[T]{}
	known := make([]string, 0, len(fields))
	for _, f := range fields {
		byKey[f.key] = f
		known = append(known, f.key)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		f, ok := byKey[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			found.add(place(key), "a key has to be a word, and this is %s", kind(key))
		case !ok:
			found.add(place(key), "unknown key %s%s", quoted(key.Value), suggest(key.Value, known))
		case values[f.key] != nil:
			found.add(place(key), "a second %s, the first is in line %d", f.key, lines[f.key])
		default:
			values[f.key], lines[f.key] = value, key.Line
			f.read(found, value, into)
		}
	}
	for _, f := range fields {
		if f.need != "" && values[f.key] == nil {
			found.add(place(node), "no %s: %s", f.key, f.need)
		}
	}
	return values
}

// kind names the type of a node in an error.
func kind(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias: write out its value"
	}
	switch tag := node.ShortTag(); tag {
	case "!!str":
		return "the text " + quoted(node.Value)
	case "!!int", "!!float":
		return "the number " + clipped(node.Value)
	case "!!bool":
		return clipped(node.Value)
	case "!!null":
		return "nothing"
	default:
		return "of the type " + clipped(tag)
	}
}

func quoted(s string) string { return fmt.Sprintf("%q", clipped(s)) }

// clipped limits the length of file content in an error.
func clipped(s string) string {
	const most = 60
	runes := []rune(s[:min(len(s), 4*most)])
	if len(runes) <= most && len(s) <= 4*most {
		return s
	}
	return strings.ToValidUTF8(string(runes[:min(most, len(runes))]), "") + "…"
}
