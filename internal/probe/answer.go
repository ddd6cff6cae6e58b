package probe

import (
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// Outcome classifies the reply to a command.
type Outcome string

// The outcomes.
const (
	OK        Outcome = "ok"        // answered
	Refused   Outcome = "refused"   // an error: the command or its keys are unknown or not permitted
	Failed    Outcome = "failed"    // another error, which does not concern permission
	Forbidden Outcome = "forbidden" // the user lacks the permission
	Closes    Outcome = "closes"    // the peer closed the connection, also after a retry
	Timeout   Outcome = "timeout"   // no answer in time
)

// Answer is the result of one command.
type Answer struct {
	Command string  `json:"command"`
	Case    string  `json:"case,omitempty"` // the special case: "two slots"
	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text,omitempty"` // of an error, without keys and values

	question question
	raw      string // the error as received
}

// classify returns the outcome of a reply to a question, and the error text.
func classify(q question, reply resp.Reply) (Outcome, string) {
	text, failed := reply.ErrorText()
	if !failed {
		return OK, ""
	}
	switch m := resp.MeaningInScript(text); {
	case m == resp.Forbidden:
		return Forbidden, text
	case m.Temporary():
		return Failed, text
	case q.strict, m == resp.Refused, m == resp.Declined:
		return Refused, text
	}
	return Failed, text
}

// lacksRight recognizes the error texts for a missing permission: on a command, and on one inside a script.
func lacksRight(text string) bool { return resp.MeaningInScript(text) == resp.Forbidden }

// passing recognizes errors about a temporary state; they do not concern the command.
func passing(text string) bool { return resp.MeaningInScript(text).Temporary() }

// finding converts the reply to a command that should work.
func finding(reply resp.Reply, outcome Outcome) Finding {
	switch outcome {
	case Closes:
		return Disconnects
	case Timeout:
		return Silent
	}
	text, failed := reply.ErrorText()
	switch {
	case !failed:
		return Works
	case lacksRight(text):
		return NoRight
	case text == "", passing(text):
		return Unclear
	}
	return Refuses
}

// worded reports whether a refusal matches the text of a profile. Servers repeat the command as it was
// sent, and may append its arguments.
func worded(text, refusal string) bool {
	return refusal != "" && strings.HasPrefix(strings.ToLower(text), strings.ToLower(refusal))
}
