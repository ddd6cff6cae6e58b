package probe

import (
	"strings"
	"unicode"
)

// maxText limits the error text in a report.
const maxText = 160

// mask removes quoted arguments from an error text: they may be keys or, of AUTH, a password.
func (p *prober) mask(text string) string {
	text, _, _ = strings.Cut(text, ", with args beginning with:")
	for _, secret := range []string{p.cfg.Password, p.cfg.Username} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	for {
		before, rest, found := strings.Cut(text, p.cfg.Prefix)
		if !found {
			break
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("'\"`,;)", r) })
		if end < 0 {
			end = len(rest)
		}
		text = before + "…" + rest[end:]
	}
	return clean(text)
}

// clean makes a foreign text safe for one line of a terminal.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxText {
		text = string(runes[:maxText]) + "…"
	}
	return text
}
