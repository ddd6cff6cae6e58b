package proxycompat

import "fmt"

// Verdict is what a proxy does with a command.
type Verdict uint8

// The verdicts. [Profile.Check] lets OK, Split, Backend and Unknown pass, and
// OneKey as long as there is one key, and SameSlot if its keys share a slot.
const (
	// OK: handled, or forwarded to the server that owns the key.
	OK Verdict = iota
	// Refused: answered with an error, the connection stays open and the rest
	// of the pipeline is executed.
	Refused
	// Closes: the connection is closed without a reply. What was sent before
	// in the same pipeline has been executed, its replies are lost.
	Closes
	// OneKey: routed by one key, all other keys are taken to be on the same
	// server. If they are not, the answer is wrong and no error says so.
	OneKey
	// SameSlot: all its keys must be in one slot; whoever answers checks that, and
	// says so with an error.
	SameSlot
	// Split: fanned out, one command per key, and the replies merged. Each
	// key's own effect is right, the whole is not atomic, and an error may
	// mean that it was partly done.
	Split
	// Backend: passed on; whether it works depends on the server's version.
	Backend
	// Misrouted: routed by a word that is not its key, so it reaches a server
	// that may not own the key and answers as if the key did not exist.
	Misrouted
	// Unknown: the proxy does not know the command and forwards it by its
	// first argument.
	Unknown
	// HarmsOthers: passed on into a connection that other clients share, and
	// changes or blocks it for all of them.
	HarmsOthers
)

// words are the spellings in a profile file, by verdict.
func (Verdict) words() [10]string {
	return [...]string{"ok", "refused", "closes", "onekey", "sameslot", "split", "backend", "misrouted", "unknown", "harms"}
}

// String returns the word that profile files use.
func (v Verdict) String() string {
	if w := v.words(); int(v) < len(w) {
		return w[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// ParseVerdict is the inverse of [Verdict.String].
func ParseVerdict(s string) (Verdict, error) {
	for i, w := range OK.words() {
		if w == s {
			return Verdict(i), nil
		}
	}
	return 0, fmt.Errorf("proxycompat: unknown verdict %q, known are %v", s, OK.words())
}
