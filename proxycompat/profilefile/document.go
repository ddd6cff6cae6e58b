package profilefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parse returns the only document in data, or nil after a problem.
func parse(found *problems, data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	top := position{line: 1}
	switch {
	case len(data) > MaxSize:
		found.add(top, "the file is larger than %d bytes", MaxSize)
	case !utf8.Valid(data):
		lines := bytes.Split(data, []byte("\n"))
		found.add(position{line: 1 + slices.IndexFunc(lines, func(line []byte) bool { return !utf8.Valid(line) })}, "this is not UTF-8")
	case len(bytes.TrimSpace(data)) == 0:
		found.add(top, "the file is empty: it needs at least a name and a base")
	case strings.HasSuffix(strings.ToLower(found.file), ".json") || json.Valid(data):
		// YAML claims to contain JSON, but does not support surrogate pairs, and restricts tabs.
		return parseJSON(found, data)
	default:
		return parseYAML(found, data)
	}
	return nil
}

func parseYAML(found *problems, data []byte) *yaml.Node {
	lines := &lineReader{rest: data}
	decoder := yaml.NewDecoder(lines)
	var document, second yaml.Node
	switch err := decode(decoder, &document); {
	case errors.Is(err, io.EOF), err == nil && blank(&document):
		found.add(position{line: 1}, "the file is empty: it needs at least a name and a base")
		return nil
	case err != nil:
		found.syntax(err, lines.read)
		return nil
	}
	switch err := decode(decoder, &second); {
	case errors.Is(err, io.EOF):
		return document.Content[0]
	case err != nil:
		found.syntax(err, lines.read)
	default:
		found.add(place(&second), "a second document: a file describes one proxy")
	}
	return nil
}

// decode recovers a panic of the library. Invalid files have caused panics, and must not end the process.
func decode(decoder *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("this cannot be read as YAML")
		}
	}()
	return decoder.Decode(into)
}

func blank(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null"
}

// lineReader returns one line per Read, so that its line count shows how far the library had read at an
// error.
type lineReader struct {
	rest []byte
	open bool // the previous line was not returned completely
	read int
}

func (l *lineReader) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	line := l.rest
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i+1]
	}
	if !l.open {
		l.read++
	}
	n := copy(p, line)
	l.open = n < len(line)
	l.rest = l.rest[n:]
	return n, nil
}

// syntax reports an error of the library. The library reports the line where an unterminated element began,
// for some messages the line before, and sometimes none. The number of lines read replaces a missing line.
func (p *problems) syntax(err error, read int) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), read
	if match := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); match != nil {
		text = text[len(match[0]):]
		if stated, err := strconv.Atoi(match[1]); err == nil && !misplaced.MatchString(text) {
			line = stated
		}
	}
	p.add(position{line: max(line, 1)}, "no valid YAML: %s%s", text, hint(text))
}

// misplaced matches messages for which the library does not report the line of the mistake.
var misplaced = regexp.MustCompile(`^(did not find expected ('-' indicator|key|node content|','|<document start>)|found a tab character)`)

// hint explains common messages of the library.
func hint(text string) string {
	for start, hint := range map[string]string{
		"block sequence entries are not allowed": `; a "-" by itself has to be quoted`,
		"did not find expected alphabetic":       `; the command "*" has to be quoted, and aliases are not read`,
		"unknown anchor":                         `; a text that starts with * has to be quoted, and aliases are not read`,
		"mapping values are not allowed":         `; a text with ": " in it has to be quoted`,
		"found character that cannot start":      "; a text that starts with a tab, %, @ or ` has to be quoted",
		"found a tab character":                  "; indent with spaces",
	} {
		if strings.HasPrefix(text, start) {
			return hint
		}
	}
	return ""
}
