package proxycompat

import (
	"fmt"
	"slices"
)

// Verdict classifies how a proxy treats a command.
type Verdict uint8

// The verdicts. [Profile.Check] permits OK, Split, Backend and Unknown, OneKey with a single key, and
// SameSlot if all keys share a slot.
const (
	// OK: the proxy handles the command, or forwards it to the server that owns the key.
	OK Verdict = iota
	// Refused: the proxy answers with an error, the connection stays open and the rest of the pipeline is
	// executed.
	Refused
	// Closes: the proxy closes the connection without a reply. Earlier commands of the pipeline were
	// executed, and their replies are lost.
	Closes
	// OneKey: the proxy routes by one key and assumes all others on the same server. If they are not, the
	// reply is wrong and there is no error.
	OneKey
	// SameSlot: all keys must be in one slot; otherwise the proxy or the server returns an error.
	SameSlot
	// Split: the proxy sends one command per key and merges the replies. The effect on each key is right,
	// the whole is not atomic, and after an error some keys may have changed.
	Split
	// Backend: the proxy forwards the command; whether it works depends on the server's version.
	Backend
	// Misrouted: the proxy routes by a word that is not the key. The server that it selects may not own the
	// key, and answers as if the key did not exist.
	Misrouted
	// Unknown: the proxy does not know the command and forwards it by its first argument.
	Unknown
	// HarmsOthers: the proxy forwards the command into a connection that other clients share. The command
	// changes or blocks it for all of them.
	HarmsOthers
)

var verdictWords = [...]string{"ok", "refused", "closes", "onekey", "sameslot", "split", "backend", "misrouted", "unknown", "harms"}

// String returns the word that profile files use.
func (v Verdict) String() string {
	if int(v) < len(verdictWords) {
		return verdictWords[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// ParseVerdict is the inverse of [Verdict.String].
func ParseVerdict(s string) (Verdict, error) {
	i := slices.Index(verdictWords[:], s)
	if i < 0 {
		return 0, fmt.Errorf("proxycompat: unknown verdict %q, known are %v", s, verdictWords)
	}
	return Verdict(i), nil
}
