package profile

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// Refusal says what a proxy does to the first of some commands that it does not carry out as
// a server does: "the proxy refuses it". If it carries them all out, refused is false.
func Refusal(p *proxycompat.Profile, commands ...string) (what string, refused bool) {
	for _, command := range commands {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		switch p.RuleFor(words...).Verdict {
		case proxycompat.Refused:
			return "the proxy refuses it", true
		case proxycompat.Closes:
			return "the proxy closes the connection", true
		case proxycompat.HarmsOthers:
			return "the proxy passes it on into a connection that all clients share", true
		case proxycompat.Misrouted:
			return "the proxy sends it to the wrong server", true
		}
	}
	return "", false
}
