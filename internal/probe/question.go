package probe

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// question is one command, as a client would send it.
type question struct {
	name   string // the rule's name in a profile: "SET", "CLIENT ID"
	about  string // the special case; may be empty
	args   []string
	strict bool // any error means no
}

// Scripts have no values in their text, since servers cache each text for ever.
const (
	scriptGet = "return redis.call('GET',KEYS[1])"
	scriptOne = "return 1"
	// A script sets the expiry with each write: its key may be on a server that later commands do not
	// reach.
	scriptSetTwo   = "redis.call('SET',KEYS[1],ARGV[1],'PX',ARGV[2]) redis.call('SET',KEYS[2],ARGV[1],'PX',ARGV[2]) return 1"
	scriptDelTwo   = "redis.call('DEL',KEYS[1]) redis.call('DEL',KEYS[2]) return 1"
	scriptDelOther = "return redis.call('DEL',KEYS[2])"
	scriptOther    = "return redis.call('GET',KEYS[2])"
	scriptInfo     = "return redis.call('INFO','server')"
)

// questions parses one question per line: "@name" is a key of the first tag, "@@name" of the second,
// "$name" a script, "!" before the command makes any error mean no, and a special case follows "#".
func questions(lines string, keys *keyring) []question {
	var out []question
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		line, about, _ := strings.Cut(line, "#")
		words := strings.Fields(line)
		q := question{about: strings.TrimSpace(about)}
		if words[0], q.strict = strings.CutPrefix(words[0], "!"); words[0] == "" {
			words = words[1:]
		}
		for i, word := range words {
			words[i] = expand(word, keys)
		}
		q.args, q.name = words, words[0]
		if len(words) > 1 && isContainer(words[0]) {
			q.name += " " + words[1]
		}
		out = append(out, q)
	}
	return out
}

func expand(word string, keys *keyring) string {
	if name, ok := strings.CutPrefix(word, "@@"); ok {
		return keys.home(1, name)
	}
	if name, ok := strings.CutPrefix(word, "@"); ok {
		return keys.home(0, name)
	}
	switch word {
	case "$get":
		return scriptGet
	case "$sha":
		return shaOf(scriptGet)
	case "$one":
		return scriptOne
	case "$prefix":
		return keys.prefix
	}
	return word
}

// isContainer reports whether a command's first argument is a subcommand.
func isContainer(name string) bool {
	switch name {
	case "ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "FUNCTION", "MEMORY", "OBJECT", "SCRIPT", "SLOWLOG", "XGROUP", "XINFO", "PUBSUB":
		return true
	}
	return false
}

// keysIn returns the keys of the question.
func (q question) keysIn() []string {
	at, _ := proxycompat.KeysOf(q.args...)
	out := make([]string, len(at))
	for i, n := range at {
		out[i] = q.args[n]
	}
	return out
}

// flush returns the question, followed by commands that renew the expiry of the keys that it may write.
// They are sent in one write, so that nothing remains if the probe ends between.
func (q question) flush(writes func(name string) bool) [][]string {
	out := [][]string{q.args}
	if !writes(q.name) {
		return out
	}
	seen := map[string]bool{}
	for _, key := range q.keysIn() {
		if !seen[key] {
			out = append(out, []string{"PEXPIRE", key, lifetimeText()})
		}
		seen[key] = true
	}
	return out
}
