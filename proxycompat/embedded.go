package proxycompat

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// The profiles are data: the rule of each command, with its reason and its source.
//
//go:embed profiles/*.json
var profileFiles embed.FS

// embeddedFile is a file of folder profiles: Changes to an empty profile.
type embeddedFile struct {
	Changes

	Comment     string `json:"$comment"`    // not used
	Server      bool   `json:"server"`      // see Profile.Server
	LiteralKeys bool   `json:"literalKeys"` // see Profile.LiteralKeys
}

// Names returns the names that [Lookup] knows, sorted.
func Names() []string {
	files, err := fs.Glob(profileFiles, "profiles/*.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "profiles/"), ".json")
	}
	return files
}

// mustEmbedded panics only if an embedded file is missing or invalid, which a test excludes.
func mustEmbedded(name string) *Profile {
	data, err := profileFiles.ReadFile("profiles/" + name + ".json")
	if err != nil {
		panic(err)
	}
	p, err := decodeEmbedded(data)
	if err != nil {
		panic(fmt.Errorf("proxycompat: %s.json: %w", name, err))
	}
	return p
}

func decodeEmbedded(data []byte) (*Profile, error) {
	var f embeddedFile
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return nil, err
	}
	empty := &Profile{rows: map[string]*Rule{}, server: f.Server, literal: f.LiteralKeys}
	return empty.extend(f.Changes, false)
}
