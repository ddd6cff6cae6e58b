package wrap_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/wrap"
)

func TestWithoutSecrets(t *testing.T) {
	for word, want := range map[string]string{
		"h:1": "h:1", "[::1]:6379": "[::1]:6379", "redis://h:1": "h:1", "redis://u:hunter2@h:6379/0?x=1": "h:6379",
		"u:hun/ter@2@h:1": "h:1", "rediss://:hunter2@[::1]:1": "[::1]:1", "a/b": "a/b",
	} {
		assert.Equal(t, want, wrap.WithoutSecrets(word), word)
	}
}
