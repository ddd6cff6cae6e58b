package live

import (
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// clean is a text of a server in one printable line of at most 200 bytes.
func clean(text string) string {
	const most = 200
	text = wrap.Printable(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
