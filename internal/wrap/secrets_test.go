package wrap_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/wrap"
)

func TestWithoutSecrets(t *testing.T) {
	for word, want := range map[string]string{
		"h:1": "h:1", "[::1]:6379": "[::1]:6379", "redis://h:1": "h:1", "redis://u:hunter2@h:6379/0?x=1": "h:6379",
		"u:hun/ter@2@h:1": "h:1",
		"h:1?password=x":  "h:1", "h:1,ssl=true,password=x": "h:1,ssl=true", "h:1;PWD=x": "h:1",
		"rediss://:hunter2@[::1]:1": "[::1]:1", "a/b": "a/b",
	} {
		assert.Equal(t, want, wrap.WithoutSecrets(word), word)
	}
}

func TestSecrets(t *testing.T) {
	for arg, want := range map[string]string{
		"redis://u:p@w@h:1": "redis://***h:1", "-old=redis://:p@h": "-old=redis://***h", "u:p@h": "***h", "p@h:6379": "***h:6379",
		"h:1?password=p,q": "h:1?***", "h:1,ssl=true,Password=p": "h:1,ssl=true,***", "REDIS_PASSWORD=p": "***",
		"sentinel://u:p@a:1,b:2/main": "sentinel://***a:1,b:2/main",
	} {
		secrets := wrap.Secrets([]string{"live", arg})
		assert.Equal(t, "open "+want+": none", secrets.ReplaceAllString("open "+arg+": none", "***"))
	}
	secrets := wrap.Secrets([]string{"redis://u:a b\"c@h", "h,password=x,y"})
	assert.Equal(t, `"redis://***h", ***`, secrets.ReplaceAllString("\"redis://u:a\n  b\\\"c@h\", password=x", "***"),
		"wrapped, quoted, a part")
	assert.Nil(t, wrap.Secrets([]string{"./...", "-profile", "codis@3.2", "h:1", "-keys", "room:*=room", "pkg@v1.2", "@", "=", ""}))
}
