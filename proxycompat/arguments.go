package proxycompat

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed arguments.tsv
var argumentFile string

// Argument is an argument that Redis added to a command later than the command.
type Argument struct {
	What    string  // "GT or LT", or a description: "more than one field"
	Since   Version // of Redis that introduced it
	Instead string  // the command or argument for an older server
	Error   string  // the error reply of an older server; empty: unknown

	patterns          [][]string // alternative word sequences, see arguments.tsv
	first, last, step int        // indices at which a pattern may begin; last 0: no limit; step 0: the last word
	options           bool       // not behind the first number or *
}

// NewerArgument returns the first argument in args that this server version does not support. args[0] is
// the command; an unknown word may be "". The zero Version supports all arguments.
func (c Command) NewerArgument(server Version, args []string) (a Argument, found bool) {
	if server == (Version{}) {
		return Argument{}, false
	}
	if newer := tooNew(c.arguments, server, len(args), wordsOf(args)); newer != nil {
		return *newer, true
	}
	return Argument{}, false
}

func tooNew(arguments []Argument, server Version, n int, word func(i int) string) *Argument {
	for i := range arguments {
		if a := &arguments[i]; server.Before(a.Since) && a.in(n, word) {
			return a
		}
	}
	return nil
}

// in reports whether the call certainly has the argument. It does not allocate.
func (a *Argument) in(n int, word func(i int) string) bool {
	if a.step == 0 {
		return n > a.first && a.at(n-1, n, word)
	}
	for i := a.first; i < n && (a.last == 0 || i <= a.last); i += a.step {
		if a.at(i, n, word) {
			return true
		}
		if a.options && endsOptions(word(i)) {
			return false
		}
	}
	return false
}

func (a *Argument) at(i, n int, word func(i int) string) bool {
	for _, p := range a.patterns {
		if matches(p, i, n, word) {
			return true
		}
	}
	return false
}

// anyWords in a pattern stands for any number of words; next to text, for the rest of a word.
const anyWords = "…"

func matches(pattern []string, at, n int, word func(i int) string) bool {
	for j, want := range pattern {
		if want == anyWords {
			for i := at + j; i < n; i++ {
				if matches(pattern[j+1:], i, n, word) {
					return true
				}
			}
			return false
		}
		if at+j >= n || !matchesWord(want, word(at+j)) {
			return false
		}
	}
	return true
}

func matchesWord(want, word string) bool {
	switch want {
	case "?":
		return true
	case "<fraction>":
		return fraction(word)
	case "<capitals>":
		return word != strings.ToLower(word)
	}
	if start, ok := strings.CutSuffix(want, anyWords); ok {
		return strings.HasPrefix(word, start)
	}
	if end, ok := strings.CutPrefix(want, anyWords); ok {
		return strings.HasSuffix(word, end)
	}
	return strings.EqualFold(word, want)
}

// fraction reports whether word is a number, but not an integer.
func fraction(word string) bool {
	if _, err := strconv.ParseInt(word, 10, 64); err == nil {
		return false
	}
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// endsOptions reports whether a word is a score, a coordinate, an ID or unknown.
func endsOptions(word string) bool {
	if word == "" || word == "*" || '0' <= word[0] && word[0] <= '9' {
		return true
	}
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// Why explains that this server version does not support the argument.
func (a Argument) Why(server Version) string {
	return fmt.Sprintf("%s needs Redis %v or later, and the server behind is %v", a.What, a.Since, server)
}

// addArguments reads the arguments of the commands in table.
func addArguments(table map[string]*Command, text string) error {
	return eachRow("arguments.tsv", text, func(f []string) error {
		a, err := parseArgument(f[1], f[2], f[3])
		if err != nil {
			return err
		}
		a.Instead = f[5]
		for name := range strings.SplitSeq(f[0], ",") {
			c := table[name]
			if c == nil {
				return fmt.Errorf("unknown command %s", name)
			}
			switch a.Error = f[4]; f[4] {
			case "-":
				a.Error = ""
			case "arity":
				a.Error = "ERR wrong number of arguments for '" + strings.ToLower(name) + "' command"
			case "syntax":
				a.Error = "ERR syntax error"
			}
			c.arguments = append(c.arguments, a)
		}
		return nil
	})
}

func parseArgument(since, words, where string) (a Argument, err error) {
	if a.Since, err = ParseVersion(since); err != nil {
		return a, err
	}
	a.What = strings.NewReplacer(",", " or ", " ?", "").Replace(words)
	if what, patterns, described := strings.Cut(words, ": "); described {
		a.What, words = what, patterns
	}
	for pattern := range strings.SplitSeq(words, ",") {
		a.patterns = append(a.patterns, strings.Fields(pattern))
	}
	if where == "last" {
		a.first = 1
		return a, nil
	}
	a.step = 1
	bad := func() (Argument, error) {
		return a, fmt.Errorf("bad place %q: want 3, 3-4, 3+, 3+2, 3+options or last", where)
	}
	first, rest, open := strings.Cut(where, "+")
	first, last, limited := strings.Cut(first, "-")
	if a.first, err = strconv.Atoi(first); err != nil || a.first < 1 || open && limited {
		return bad()
	}
	switch {
	case limited:
		if a.last, err = strconv.Atoi(last); err != nil || a.last < a.first {
			return bad()
		}
	case !open:
		a.last = a.first
	case rest == "options":
		a.options = true
	case rest != "":
		if a.step, err = strconv.Atoi(rest); err != nil || a.step < 1 {
			return bad()
		}
	}
	return a, nil
}
