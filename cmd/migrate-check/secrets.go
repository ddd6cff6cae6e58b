package main

import (
	"io"
	"regexp"

	"github.com/unwatch/unwatch/internal/wrap"
)

// discreet is an output without the passwords that the arguments have: an error quotes an argument in
// the wrong place.
type discreet struct {
	io.Writer
	secrets *regexp.Regexp
}

// withoutSecrets returns w, or a discreet w if the arguments have passwords.
func withoutSecrets(w io.Writer, args []string) io.Writer {
	if secrets := wrap.Secrets(args); secrets != nil {
		return discreet{w, secrets}
	}
	return w
}

// Write expects a whole text.
func (d discreet) Write(text []byte) (int, error) {
	if _, err := io.WriteString(d.Writer, d.redact(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

func (d discreet) redact(text string) string { return d.secrets.ReplaceAllString(text, "***") }
