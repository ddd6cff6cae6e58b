package profile

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// Refusal describes the effect of a proxy on the first of some commands that it does not serve like
// a server: "the proxy refuses it". If it serves all of them, refused is false.
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
