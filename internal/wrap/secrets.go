package wrap

import (
	"regexp"
	"strconv"
	"strings"
)

// setting begins the name of a secret in a word: HOST:PORT?password=X and HOST:PORT,password=X.
var setting = regexp.MustCompile(`(?i)[?&,;]?[\w.-]*(?:pass|pwd|secret|token|auth|credential)[\w.-]*=`)

// user is the user of an address without a scheme: USER:PASSWORD@ before anything, and PASSWORD@ before HOST:PORT.
var user = regexp.MustCompile(`^(?:[^:]*:.*@|.*@[^@/]*:\d+$)`)

// WithoutSecrets returns the HOST:PORT of a URL, or of USER:PASSWORD@HOST:PORT, or of an address with
// settings such as password=X, and any other word unchanged.
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
	if at := setting.FindStringIndex(rest); at != nil {
		rest = rest[:at[0]]
	}
	return rest
}

// Secrets matches the parts of a command's arguments that may be passwords: the user of a URL or of an
// address, and a setting such as password=X. It is nil if the arguments have none.
func Secrets(args []string) *regexp.Regexp {
	var secrets []string
	add := func(text string) {
		for _, one := range []string{text, strings.Trim(strconv.Quote(text), `"`)} {
			words := strings.Fields(regexp.QuoteMeta(one)) // an output may break the line at a blank
			secrets = append(secrets, strings.Join(words, `\s+`))
		}
	}
	for _, arg := range args {
		if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "-") { // -flag=VALUE
			arg = value
		}
		_, rest, isURL := strings.Cut(arg, "://")
		if !isURL {
			rest = user.FindString(arg)
		}
		if at := strings.LastIndex(rest, "@"); at > 0 {
			add(rest[:at+1])
		}
		for _, at := range setting.FindAllStringIndex(arg, -1) {
			assigned := strings.TrimLeft(arg[at[0]:], "?&,;")
			add(assigned)
			if end := strings.IndexAny(assigned, ",;&"); end > 0 { // of a list, an error names one
				add(assigned[:end])
			}
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	return regexp.MustCompile(strings.Join(secrets, "|"))
}
