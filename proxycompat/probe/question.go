package probe

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// question is one command to send, as a client would send it.
type question struct {
	name   string // as a profile's rule is called: "SET", "CLIENT ID"
	about  string // what is special about it; may be empty
	args   []string
	strict bool // any error is a no
}

// The texts of scripts. None has an argument in it: servers keep every text for ever.
const (
	scriptGet = "return redis.call('GET',KEYS[1])"
	scriptOne = "return 1"
	// What a script stores has its expiry at once: it may be on a server on which
	// nothing that we send later finds it.
	scriptSetTwo   = "redis.call('SET',KEYS[1],ARGV[1],'PX',ARGV[2]) redis.call('SET',KEYS[2],ARGV[1],'PX',ARGV[2]) return 1"
	scriptDelTwo   = "redis.call('DEL',KEYS[1]) redis.call('DEL',KEYS[2]) return 1"
	scriptDelOther = "return redis.call('DEL',KEYS[2])"
	scriptOther    = "return redis.call('GET',KEYS[2])"
	scriptInfo     = "return redis.call('INFO','server')"
)

// questions reads lines of words: "@name" is a key of the first tag, "@@name" one of the
// second, "$name" a script, "!" before the command says that any error is a no, and what
// follows "#" is what is special about it.
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

// isContainer reports whether a command's first argument is the name of a subcommand.
func isContainer(name string) bool {
	switch name {
	case "ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "FUNCTION", "MEMORY", "OBJECT", "SCRIPT", "SLOWLOG", "XGROUP", "XINFO", "PUBSUB":
		return true
	}
	return false
}

// keysIn are the keys in the question.
func (q question) keysIn() []string {
	at, _ := proxycompat.KeysOf(q.args...)
	out := make([]string, len(at))
	for i, n := range at {
		out[i] = q.args[n]
	}
	return out
}

// flush is the question, and after it what gives the keys that it may have written an
// expiry again, all in one write: nothing may stay behind if we end in between.
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
