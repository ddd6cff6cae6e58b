package profilefile

import (
	"bytes"
	_ "embed"
)

//go:embed profile.schema.json
var schema []byte

// Schema returns a JSON Schema (draft 2020-12) of the file. Editors check a file against it and explain its
// keys. Write it to profile.schema.json; a JSON file refers to it by the key $schema, and a YAML file by a
// comment in its first line:
//
//	# yaml-language-server: $schema=profile.schema.json
//
// [Extend] checks more than the schema can, such as whether a base exists.
func Schema() []byte { return bytes.Clone(schema) }
