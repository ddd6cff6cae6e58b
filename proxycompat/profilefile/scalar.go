package profilefile

import (
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// text reads a string. A value that YAML reads as a number or a boolean must be quoted: the program that
// wrote the file may have changed it already. A date is a string in current YAML.
func text(found *problems, node *yaml.Node) string {
	return tagged(found, node, "!!str", "!!timestamp")
}

// word reads a string that may look like a number, such as a version. It keeps the spelling, so 7.10 does
// not become 7.1.
func word(found *problems, node *yaml.Node) string {
	return tagged(found, node, "!!str", "!!timestamp", "!!int", "!!float")
}

func tagged(found *problems, node *yaml.Node, tags ...string) string {
	switch {
	case node.Kind != yaml.ScalarNode || !slices.Contains(tags, node.ShortTag()):
		quote := ""
		if node.Kind == yaml.ScalarNode && node.Value != "" {
			quote = ": put it in quotes"
		}
		found.add(place(node), "this has to be a text, and is %s%s", kind(node), quote)
	case node.Value == "":
		found.add(place(node), "this is empty: leave out the key")
	default:
		return node.Value
	}
	return ""
}

// duration reads "30m"; "never" is negative.
func duration(found *problems, node *yaml.Node) time.Duration {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" {
		if node.Value == "never" {
			return -1
		}
		if d, err := time.ParseDuration(node.Value); err == nil && d > 0 {
			return d
		}
	}
	found.add(place(node), "this has to be a time with its unit, as in 30m or 90s, or never, and is %s", kind(node))
	return 0
}

// count reads a number above zero; "unlimited" is negative.
func count(found *problems, node *yaml.Node) int {
	if node.Kind == yaml.ScalarNode {
		tag := node.ShortTag()
		if tag == "!!str" && node.Value == "unlimited" {
			return -1
		}
		if n, err := strconv.Atoi(node.Value); err == nil && n > 0 && tag == "!!int" {
			return n
		}
	}
	found.add(place(node), "this has to be a whole number above zero, without quotes, or unlimited, and is %s", kind(node))
	return 0
}

// texts reads a string or a list of strings, and returns the nodes, too.
func texts(found *problems, node *yaml.Node) (words []string, nodes []*yaml.Node) {
	nodes = []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		if nodes = node.Content; len(nodes) == 0 {
			found.add(place(node), "this list is empty")
		}
	}
	for _, n := range nodes {
		words = append(words, text(found, n))
	}
	return words, nodes
}
