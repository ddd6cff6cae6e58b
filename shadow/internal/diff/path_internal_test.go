package diff

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestLooksLikeData(t *testing.T) {
	for _, field := range []string{
		"a", "_", "_id", "updatedAt", "last_seen_at", "content-type", "line1", "address2", "oauth2Token", "sha256", "utf8",
		"base64Url", "s3Key", "p99", "x509Cert", "feedback", strings.Repeat("x", 32),
	} {
		assert.False(t, looksLikeData(field), field)
	}
	for _, data := range []string{
		"", " ", "7", "+4420794600", "ann@example.com", "room:7", "a.b", "user_10234", "u-1-2-3-4", "Zoë", "名前", "deadbeef", "xDEADBEEFx",
		"550e8400-e29b-41d4-a716-446655440000", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "x7Kq2P", "a b", "*", "…", "[]", "-x", "\xff",
		strings.Repeat("x", 33), `"`, "a\n",
	} {
		assert.True(t, looksLikeData(data), data)
	}
}

// A template contains only a few safe characters, for any names.
func TestTemplateCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var path []hop
		for range rapid.IntRange(0, 20).Draw(t, "hops") {
			if rapid.Bool().Draw(t, "element") {
				path = append(path, hop{element: true, index: 12345})
			} else {
				path = append(path, hop{name: rapid.String().Draw(t, "name"), data: rapid.Bool().Draw(t, "data")})
			}
		}
		assert.Regexp(t, `^([A-Za-z_][A-Za-z0-9_-]*|\*|\[\]|\.|…)*$`, template(path))
		assert.NotContains(t, template(path), "1234")
	})
}
