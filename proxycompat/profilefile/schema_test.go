package profilefile

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

type schemaNode struct {
	Schema               string                 `json:"$schema"`
	Description          string                 `json:"description"`
	AdditionalProperties *bool                  `json:"additionalProperties"`
	Required             []string               `json:"required"`
	Properties           map[string]*schemaNode `json:"properties"`
	Enum                 []string               `json:"enum"`
	Defs                 map[string]*schemaNode `json:"$defs"`
}

func keysOf[T any](fields []field[T]) (keys, required []string) {
	for _, f := range fields {
		keys = append(keys, f.key)
		if f.need != "" {
			required = append(required, f.key)
		}
	}
	return keys, required
}

func TestSchemaAndReaderAgree(t *testing.T) {
	var root schemaNode
	require.NoError(t, json.Unmarshal(Schema(), &root))
	assert.Equal(t, "https://json-schema.org/draft/2020-12/schema", root.Schema)

	keys, required := keysOf(descriptionFields())
	agree(t, &root, keys, required)
	keys, required = keysOf(ruleFields())
	agree(t, root.Defs["rule"], keys, required)

	assert.Equal(t, verdicts(), root.Defs["rule"].Properties["verdict"].Enum)
	for _, hash := range root.Properties["hash"].Enum {
		_, err := proxycompat.Redis().Extend(proxycompat.Changes{Name: "x", Hash: hash})
		require.NoError(t, err)
	}
}

func agree(t *testing.T, object *schemaNode, keys, required []string) {
	t.Helper()
	var have []string
	for key, property := range object.Properties {
		have = append(have, key)
		assert.NotEmpty(t, property.Description, key)
	}
	assert.ElementsMatch(t, keys, have)
	assert.ElementsMatch(t, required, object.Required)
	require.NotNil(t, object.AdditionalProperties)
	assert.False(t, *object.AdditionalProperties)
}

func TestVerdicts(t *testing.T) {
	assert.Len(t, verdicts(), int(proxycompat.HarmsOthers)+1)
	for _, word := range verdicts() {
		_, err := proxycompat.ParseVerdict(word)
		require.NoError(t, err)
	}
}

func TestSchemaIsACopy(t *testing.T) {
	want := slices.Clone(Schema())
	clear(Schema())
	assert.Equal(t, want, Schema())
}
