package wrap

import "strings"

// WithoutSecrets is the HOST:PORT of a URL, or of USER:PASSWORD@HOST:PORT; any other word
// stays as it is.
func WithoutSecrets(word string) string {
	_, rest, isURL := strings.Cut(word, "://")
	if !isURL {
		rest = word
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 { // first: a password may have any sign in it
		rest, isURL = rest[at+1:], true
	}
	if end := strings.IndexAny(rest, "/?#"); isURL && end >= 0 {
		rest = rest[:end]
	}
	return rest
}
