package profilefile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/unwatch/unwatch/proxycompat"
)

// Marshal returns the YAML file of a profile with these rules over base. [Extend] reads it back as
// base.Extend(rules).
//
// With a nil base the file names none, and the reader has to supply one. A file can only name a base that
// [proxycompat.Lookup] knows; any other, such as a result of Extend, is an error. Marshal also returns an
// error for rules that Extend rejects (a [*proxycompat.RuleError]), and for text that would not be read back.
func Marshal(name string, base *proxycompat.Profile, rules []proxycompat.RuleChange) ([]byte, error) {
	d := document{Changes: proxycompat.Changes{Name: name, Rules: rules}}
	reader, load := proxycompat.Redis(), `profilefile.Extend(base, "FILE", data), base being the profile that it changes,`
	if base != nil {
		d.Base = base.Name()
		reader, load = nil, `profilefile.Load("FILE"),`
	}
	want, err := cmp.Or(base, reader).Extend(d.Changes)
	if err != nil {
		return nil, fmt.Errorf("profilefile: not written: %w", err)
	}
	var out bytes.Buffer
	out.WriteString("# The commands that a Redis proxy permits: the differences from the profile of its base.\n" +
		"# Load it with " + load + " of github.com/unwatch/unwatch/proxycompat/profilefile.\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(d), encoder.Close()); err != nil {
		return nil, fmt.Errorf("profilefile: not written: %w", err)
	}
	// No file is better than one that Extend rejects, or reads as another profile.
	got, err := Extend(reader, "profile.yaml", out.Bytes())
	if err == nil && !reflect.DeepEqual(got, want) {
		err = errors.New("it would be read as another profile: the base must be one of Lookup's; otherwise give nil, and the base to Extend")
	}
	if err != nil {
		return nil, fmt.Errorf("profilefile: not written, for it could not be read back: %w", err)
	}
	return out.Bytes(), nil
}
