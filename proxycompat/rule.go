package proxycompat

import (
	"fmt"
	"strconv"
	"strings"
)

// Rule describes how a proxy treats one command.
type Rule struct {
	Command string // upper case; "*" is the rule for commands without one
	Verdict Verdict
	Error   string // error text for a refused command; empty: that of the profile
	Why     string // the consequence, in one sentence
	Instead string // what to send instead; may be empty
	Source  string // the evidence: a source file, or an observation with versions

	args  argCount // the number of arguments that the proxy accepts
	newer *newer   // nil: the server supports all arguments, or its version is unknown
	keys  keySpec
	known bool // only the profile knows the command, not Redis' command list
	route route

	replica bool // the proxy may send the command to a replica
	ours    bool // from Changes, not from an embedded table
	sub     bool // a subcommand
	subs    bool // some of its subcommands have rules of their own
}

// Route returns the index in args of the word that the proxy routes the command by; -1 if it uses no word,
// or args is too short. args[0] is the command.
func (r Rule) Route(args []string) int {
	at := int(r.route)
	switch {
	case r.route == byKey && r.keys.atOne():
		at = 1
	case r.route == byKey:
		at = -1
		if keys := r.keys.in(args); len(keys) > 0 {
			at = keys[0]
		}
	}
	if at <= 0 || at >= len(args) {
		return -1
	}
	return at
}

// Keys returns the indices in args of the keys, if their positions are known.
func (r Rule) Keys(args []string) []int { return r.keys.in(args) }

// ArgsFit reports whether the proxy accepts this number of arguments and of keys. A proxy that parses
// commands, such as twemproxy, closes the connection otherwise.
func (r Rule) ArgsFit(args []string) bool {
	if !r.args.fit(len(args) - 1) {
		return false
	}
	l := r.keys.find(len(args), wordsOf(args))
	return !r.args.counted || l.stated > 0
}

// newer holds the arguments of a command that the server may be too old for.
type newer struct {
	arguments []Argument
	server    Version
}

// TooNew returns an argument in args that the server behind the proxy does not support. args[0] is the
// command; an unknown word may be "". It finds none if the profile has no server version: see
// [Profile.Over].
func (r Rule) TooNew(args []string) (a Argument, found bool) {
	if r.newer == nil {
		return Argument{}, false
	}
	c := Command{arguments: r.newer.arguments}
	return c.NewerArgument(r.newer.server, args)
}

// Local reports whether the proxy answers the command itself.
func (r Rule) Local() bool { return r.route == byItself }

// Replica reports whether a replica may answer the command, so that the reply may be stale. Only the
// profile of Codis says so.
func (r Rule) Replica() bool { return r.replica }

// Everywhere reports whether the proxy sends the command to every server.
func (r Rule) Everywhere() bool { return r.route == toAll }

// route is the index of the routing word, or one of these constants.
type route int

const (
	byKey    route = 0 // its first key
	byItself route = -1
	toAny    route = -2
	toAll    route = -3
)

func parseRoute(s string) (route, error) {
	switch s {
	case "", "-":
		return byKey, nil
	case "local":
		return byItself, nil
	case "any":
		return toAny, nil
	case "all":
		return toAll, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("bad route %q: want -, local, any, all, replica or the index of a word", s)
	}
	return route(n), nil
}

// argCount is a condition on the number of arguments after the command name.
// The zero value accepts any number.
type argCount struct {
	set      bool
	min, max int // max < 0: no upper bound
	pairs    bool
	counted  bool // the key count must be a positive number
}

func (a argCount) fit(n int) bool {
	if !a.set {
		return true
	}
	return n >= a.min && (a.max < 0 || n <= a.max) && (!a.pairs || n%2 == 0)
}

// parseArgs parses "-" (any), "2" (exactly), "2+" (at least), "2-4", "pairs", or "3+keys" (at least 3, and
// the key count is a positive number).
func parseArgs(s string) (argCount, error) {
	switch {
	case s == "-" || s == "":
		return argCount{}, nil
	case s == "pairs":
		return argCount{set: true, min: 2, max: -1, pairs: true}, nil
	}
	word, counted := strings.CutSuffix(s, "keys")
	word, open := strings.CutSuffix(word, "+")
	word, upper, _ := strings.Cut(word, "-")
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		return argCount{}, fmt.Errorf("bad argument count %q: want -, 2, 2+, 2-4, 2+keys or pairs", s)
	}
	a := argCount{set: true, min: n, max: n, counted: counted}
	if upper != "" {
		if a.max, err = strconv.Atoi(upper); err != nil || a.max < n {
			return argCount{}, fmt.Errorf("bad argument count %q: want the smaller number first, as in 2-4", s)
		}
	}
	if open {
		a.max = -1
	}
	return a, nil
}

// parse sets the fields that are words in a RuleChange.
func (r *Rule) parse(verdict, args, route string) (err error) {
	if r.replica = route == "replica"; r.replica {
		route = ""
	}
	if r.Verdict, err = ParseVerdict(verdict); err != nil {
		return err
	}
	if r.args, err = parseArgs(args); err != nil {
		return err
	}
	r.route, err = parseRoute(route)
	return err
}

// setRow stores r as the row of a command.
func (p *Profile) setRow(name string, r Rule) error {
	if err := checkName(name); err != nil {
		return err
	}
	r.Command = name
	if name == "*" {
		p.other = &r
	} else {
		p.rows[name] = &r
	}
	return nil
}

// checkName accepts a command in upper case, or a command and its subcommand.
func checkName(name string) error {
	words := strings.Split(name, " ")
	if strings.Contains(name, ",") {
		return fmt.Errorf("bad command %q: of several, write a list, as in [GET, SET]", name)
	}
	odd := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
	if odd || name != strings.ToUpper(name) || len(words) > 2 || words[0] == "" || words[len(words)-1] == "" || len(name) > maxName {
		return fmt.Errorf("bad command %q: want one command, or one and its subcommand", name)
	}
	return nil
}
