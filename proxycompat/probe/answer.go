package probe

import (
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// Outcome is what became of a command, as far as it shows.
type Outcome string

// The outcomes.
const (
	OK        Outcome = "ok"        // answered
	Refused   Outcome = "refused"   // an error that says that this command, or its keys, are not permitted or not known
	Failed    Outcome = "failed"    // another error: it says nothing about what is permitted
	Forbidden Outcome = "forbidden" // the user of the connection lacks the right
	Closes    Outcome = "closes"    // the connection was closed instead, and again on a new one
	Timeout   Outcome = "timeout"   // no answer in time
)

// Answer is what became of one command.
type Answer struct {
	Command string  `json:"command"`
	Case    string  `json:"case,omitempty"` // what was special about it: "two slots"
	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text,omitempty"` // of an error, without keys and values

	question question
	raw      string // the error as it came
}

// classify says what a reply to a question means.
func classify(q question, reply resp.Reply) (Outcome, string) {
	text, failed := reply.ErrorText()
	if !failed {
		return OK, ""
	}
	switch lower := strings.ToLower(text); {
	case lacksRight(lower):
		return Forbidden, text
	case passing(lower):
		return Failed, text
	case q.strict, saysRefused(lower):
		return Refused, text
	}
	return Failed, text
}

// saysRefused knows the words with which proxies and servers refuse a command. The
// text is in lower case.
func saysRefused(text string) bool {
	for _, words := range [...]string{
		"unknown command", "unknown subcommand", "unknown redis command", "invalid command", // servers, Envoy, Pika
		"not allowed", "not support", "unsupported", "not implemented", // Codis, camellia, Envoy, redis-cluster-proxy
		"forbid transaction", "auth permission deny", // predixy
		"crossslot", "cross-slot", "same slot", "same resources", // clusters, camellia
		"can't be negative or zero", "bad lua script for redis cluster", // Alibaba Cloud
		"disabled command", "command is disabled",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// lacksRight knows the words for a user who may not do that, in lower case: of a
// command, and of one inside a script.
func lacksRight(text string) bool {
	return strings.HasPrefix(text, "noperm") || strings.Contains(text, "acl failure in script") ||
		strings.Contains(text, "the user executing the script can't")
}

// passing knows errors, in lower case, about the state that something is in: they say
// nothing about the command.
func passing(text string) bool {
	for _, code := range [...]string{
		"loading", "oom ", "misconf", "busy ", "readonly", "masterdown", "clusterdown", "tryagain", "noreplicas",
		"err handle response", "err handle request, slot is not ready", // Codis, whose server is away
	} {
		if strings.HasPrefix(text, code) {
			return true
		}
	}
	return false
}

// finding is what became of one command that should work.
func finding(reply resp.Reply, outcome Outcome) Finding {
	switch outcome {
	case Closes:
		return Disconnects
	case Timeout:
		return Silent
	}
	text, failed := reply.ErrorText()
	switch lower := strings.ToLower(text); {
	case !failed:
		return Works
	case lacksRight(lower):
		return NoRight
	case text == "", passing(lower):
		return Unclear
	}
	return Refuses
}

// worded reports whether a refusal has the words of a profile's refusal. Servers repeat
// the command as it was sent, and may go on with its arguments.
func worded(text, refusal string) bool {
	return refusal != "" && strings.HasPrefix(strings.ToLower(text), strings.ToLower(refusal))
}
