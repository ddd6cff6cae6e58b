package profilefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/unwatch/unwatch/proxycompat"
)

// document is a file: the changes, and the name of the profile to change.
type document struct {
	Schema string `yaml:"$schema,omitempty"` // not used
	Base   string `yaml:"base,omitempty"`
	Closes bool   `yaml:"closes,omitempty"` // the same as Changes.Refusal "-"

	proxycompat.Changes `yaml:",inline"`
}

// Extend returns the profile that data describes, as a change of base. With a nil base the data has to name
// one. It is an error if both are given, because one of them would be ignored. file is the name in errors.
//
// Each line of the error begins with file:line, or with file if the line is unknown.
func Extend(base *proxycompat.Profile, file string, data []byte) (*proxycompat.Profile, error) {
	d, err := decode(data)
	if err != nil {
		return nil, located(file, err)
	}
	p, err := d.profile(base)
	if err != nil {
		var bad *proxycompat.RuleError
		var lines struct{ Commands []yaml.Node }
		if errors.As(err, &bad) && yaml.Unmarshal(data, &lines) == nil && bad.Index < len(lines.Commands) {
			file = fmt.Sprintf("%s:%d", file, lines.Commands[bad.Index].Line)
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// decode recovers a panic of the library: invalid files have caused panics, and must not end the process.
func decode(data []byte) (d document, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: this cannot be read")
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); err != nil && !errors.Is(err, io.EOF) { // EOF: the file is empty
		return d, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return d, errors.New("a second document: a file describes one proxy")
	}
	return d, nil
}

// located puts the file in front of each message of package yaml, and "file:7: " in place of "line 7: ".
func located(file string, err error) error {
	texts, quote := []string{strings.TrimPrefix(err.Error(), "yaml: ")}, ""
	var mistakes *yaml.TypeError
	switch {
	case errors.As(err, &mistakes):
		texts = mistakes.Errors
	case texts[0] != err.Error():
		quote = "; quote a text that has \": \" in it, or begins with *, -, % or the like"
	}
	const format = "is no key of the format: see go doc github.com/unwatch/unwatch/proxycompat/profilefile"
	names := strings.NewReplacer("not found in type profilefile.document", format, "not found in type proxycompat.RuleChange", format,
		"profilefile.document", "a profile", "proxycompat.RuleChange", "a rule")
	errs := make([]error, len(texts))
	for i, text := range texts {
		text = names.Replace(text)
		if at, found := strings.CutPrefix(text, "line "); found {
			errs[i] = errors.New(file + ":" + at + quote)
		} else {
			errs[i] = errors.New(file + ": " + text + quote)
		}
	}
	return errors.Join(errs...)
}

// profile applies the changes to base, or to the profile that the file names.
func (d document) profile(base *proxycompat.Profile) (_ *proxycompat.Profile, err error) {
	switch {
	case base != nil && d.Base != "":
		return nil, fmt.Errorf("a base is named here, and %s was given as base, too: leave one of them out", base.Name())
	case base == nil && d.Base == "":
		return nil, errors.New("no base: name the profile that this one changes, as in base: codis")
	case d.Closes && d.Refusal != "":
		return nil, errors.New("closes and refusal exclude each other: leave one of them out")
	case d.Closes:
		d.Refusal = "-"
	}
	if base == nil {
		if base, err = proxycompat.Lookup(d.Base); err != nil {
			return nil, err
		}
	}
	return base.Extend(d.Changes)
}
