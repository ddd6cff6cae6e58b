package profilefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parseJSON returns data as YAML nodes, so that both formats share one reader; or nil after a problem.
func parseJSON(found *problems, data []byte) *yaml.Node {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil { // it also limits nesting
		at := &cursor{data: data, position: position{1, 1}}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at.advance(int(syntax.Offset) - 1)
		}
		found.add(at.position, "no valid JSON: %w", err)
		return nil
	}
	r := &jsonReader{decoder: json.NewDecoder(bytes.NewReader(data)), at: cursor{data: data, position: position{1, 1}}}
	r.decoder.UseNumber()
	node, err := r.value()
	if err != nil {
		found.add(r.at.position, "no valid JSON: %w", err)
		return nil
	}
	return node
}

type jsonReader struct {
	decoder *json.Decoder
	at      cursor
}

// value reads the next value; nil is the end of a list or an object.
func (r *jsonReader) value() (*yaml.Node, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: r.at.line, Column: r.at.column}
	switch token := token.(type) {
	case json.Delim:
		if token == ']' || token == '}' {
			return nil, nil //nolint:nilnil // nil is the end, not an error
		}
		return r.children(node, token)
	case string:
		node.Tag, node.Value = "!!str", token
	case json.Number:
		node.Tag, node.Value = "!!int", token.String()
		if strings.ContainsAny(node.Value, ".eE") {
			node.Tag = "!!float"
		}
	case bool:
		node.Tag, node.Value = "!!bool", "false"
		if token {
			node.Value = "true"
		}
	default:
		node.Tag, node.Value = "!!null", "null"
	}
	return node, nil
}

// children reads the elements of a list, or the keys and values of an object.
func (r *jsonReader) children(node *yaml.Node, open json.Delim) (*yaml.Node, error) {
	node.Kind, node.Tag = yaml.SequenceNode, "!!seq"
	if open == '{' {
		node.Kind, node.Tag = yaml.MappingNode, "!!map"
	}
	for {
		child, err := r.value()
		if child == nil || err != nil {
			return node, err
		}
		node.Content = append(node.Content, child)
	}
}

// token reads the next token and moves the cursor to its start.
func (r *jsonReader) token() (json.Token, error) {
	start := int(r.decoder.InputOffset())
	for start < len(r.at.data) && strings.IndexByte(" \t\r\n,:", r.at.data[start]) >= 0 {
		start++
	}
	r.at.advance(start)
	return r.decoder.Token()
}

// cursor converts offsets to lines and columns. It only moves forward, so that the total time stays linear
// in the file's length.
type cursor struct {
	data   []byte
	offset int
	position
}

func (c *cursor) advance(to int) {
	for c.offset < min(to, len(c.data)) {
		r, size := utf8.DecodeRune(c.data[c.offset:])
		c.offset += size
		c.column++
		if r == '\n' {
			c.line, c.column = c.line+1, 1
		}
	}
}
