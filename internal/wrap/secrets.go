package wrap

import "strings"

// WithoutSecrets returns the HOST:PORT of a URL, or of USER:PASSWORD@HOST:PORT, and any other word
// unchanged.
func WithoutSecrets(word string) string {
	_, rest, isURL := strings.Cut(word, "://")
	if !isURL {
		rest = word
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 { // last: a password may contain @
		rest, isURL = rest[at+1:], true
	}
	if end := strings.IndexAny(rest, "/?#"); isURL && end >= 0 {
		rest = rest[:end]
	}
	return rest
}
