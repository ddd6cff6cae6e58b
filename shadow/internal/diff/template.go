package diff

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxSteps is how long a template may be: deeper than any document that people design.
const maxSteps = 32

// step is one step of a template: to an element, to any name, or to this one.
type step struct {
	kind stepKind
	name string
}

type stepKind uint8

const (
	stepName stepKind = iota
	stepAny
	stepElement
)

// parseTemplate returns the steps from the document to what the template names: none
// for ".".
func parseTemplate(template string) ([]step, error) {
	if template == "." {
		return nil, nil
	}
	switch {
	case template == "":
		return nil, errors.New(`it is empty; the document itself is "."`)
	case !utf8.ValidString(template):
		return nil, errors.New("it is not UTF-8")
	}
	var steps []step
	for rest := template; rest != ""; {
		var s step
		var err error
		switch {
		case strings.HasPrefix(rest, "[]"):
			s, rest = step{kind: stepElement}, rest[2:]
		case rest[0] == '[':
			return nil, errors.New(`an element is written "[]", without an index: a rule is for all of them`)
		case len(steps) > 0 && rest[0] != '.':
			return nil, fmt.Errorf("a dot is missing before %q", rest)
		default:
			if len(steps) > 0 {
				rest = rest[1:]
			}
			if s, rest, err = parseName(rest); err != nil {
				return nil, err
			}
		}
		if steps = append(steps, s); len(steps) > maxSteps {
			return nil, fmt.Errorf("it has more than %d steps", maxSteps)
		}
	}
	return steps, nil
}

// parseName splits a name, quoted or not, off the text.
func parseName(text string) (s step, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		return parseQuoted(text)
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	switch {
	case name == "*":
		return step{kind: stepAny}, rest, nil
	case name == "**":
		return s, "", errors.New(`there is no "**"; "*" is one name, so write it as often as there are levels`)
	case name == "":
		return s, "", errors.New("a name is missing")
	case strings.ContainsAny(name, "]*\" \t\r\n"):
		return s, "", fmt.Errorf("the name %q must be quoted", name)
	}
	return step{name: name}, rest, nil
}

func parseQuoted(text string) (s step, rest string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&s.name); err != nil {
		return s, "", fmt.Errorf("the quoted name in %q has no end, or is no JSON string", text)
	}
	return s, text[d.InputOffset():], nil
}
