package profilefile

import (
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/unwatch/unwatch/proxycompat"
)

// Extend returns the profile that data describes, as a change of base. With a nil base the data has to name
// one. It is an error if both are given, because one of them would be ignored. file is the name in errors;
// with the extension .json, only JSON is accepted.
//
// The error joins all problems, in the order of the lines. Each begins with file:line, mostly also with the
// column.
func Extend(base *proxycompat.Profile, file string, data []byte) (*proxycompat.Profile, error) {
	found := &problems{file: file}
	root := parse(found, data)
	if root == nil {
		return nil, found.err()
	}
	description := readDescription(found, root)
	if root.Kind != yaml.MappingNode {
		return nil, found.err()
	}
	base = description.resolve(found, base)
	description.try(found, base)
	if err := found.err(); err != nil {
		return nil, err
	}
	p, err := base.Extend(description.changes)
	if err != nil {
		// The trial missed this error; the line of the rule is the closest known place.
		at := place(root)
		var bad *proxycompat.RuleError
		if errors.As(err, &bad) && bad.Index < len(description.rules) {
			at, err = place(description.rules[bad.Index].node), bad.Err
		}
		found.add(at, "%w", plain(err))
		return nil, found.err()
	}
	return p, nil
}

// resolve finds the base. Without one it reports a problem and uses plain Redis, so that the rest of the
// file is checked.
func (d *description) resolve(found *problems, base *proxycompat.Profile) *proxycompat.Profile {
	node := d.at["base"]
	switch {
	case node != nil && base != nil:
		found.add(place(node), "a base is named here, and %s was given as base, too: leave one of them out", base.Name())
	case base != nil:
		return base
	case node == nil:
		found.add(place(d.node), "no base: name the profile that this one changes, as in base: codis, or give one to Extend")
	case d.base != "":
		named, err := proxycompat.Lookup(d.base)
		if err == nil {
			return named
		}
		found.add(place(node), "%w", plain(err))
	}
	d.adrift = true
	return proxycompat.Redis()
}
