package probe

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// oracle predicts outcomes from a profile.
type oracle struct {
	foreign bool // the server is not Redis, so its version does not determine its commands
}

func newOracle(server Server) oracle {
	return oracle{foreign: server.Product != "" && server.Product != "redis"}
}

func commandOf(name string) (proxycompat.Command, bool) {
	return proxycompat.CommandOf(strings.Fields(name)...)
}

// writes reports whether a question may change data.
func writes(name string) bool {
	c, _ := commandOf(name)
	return c.Writes()
}

// expect returns the outcome that the profile predicts for a question; "" if it predicts no visible one.
func (o oracle) expect(p *proxycompat.Profile, q question) Outcome {
	rule := p.RuleFor(q.args...)
	if !rule.ArgsFit(q.args) {
		if p.RefusalText(q.name) == "" {
			return Closes
		}
		return "" // an error with a text that no profile predicts
	}
	switch rule.Verdict {
	case proxycompat.Refused:
		if o.foreign && o.tooNew(p, q.name) {
			return ""
		}
		return Refused
	case proxycompat.Closes:
		return Closes
	case proxycompat.OK, proxycompat.Split, proxycompat.OneKey:
		return o.served(p, q)
	case proxycompat.SameSlot:
		switch {
		case p.SameSlot(q.keysIn()...):
			return o.served(p, q)
		case p.Slots() > 0:
			return Refused
		}
	case proxycompat.Backend, proxycompat.Unknown:
		if p.Backend() != (proxycompat.Version{}) && !o.foreign {
			return o.served(p, q)
		}
	}
	return ""
}

// served returns OK, or "" if the outcome depends on an unknown server version.
func (o oracle) served(p *proxycompat.Profile, q question) Outcome {
	switch {
	case o.tooNew(p, q.name):
		return ""
	case q.name == "CLUSTER INFO" && p.Server():
		return "" // forwarded to a server that may not be in cluster mode
	}
	return OK
}

// tooNew reports whether the server of the profile may lack the command. No supported server is older than
// that of Codis, 3.2.
func (o oracle) tooNew(p *proxycompat.Profile, name string) bool {
	version := p.Backend()
	if version == (proxycompat.Version{}) {
		version = proxycompat.Version{Major: 3, Minor: 2}
	}
	c, known := commandOf(name)
	return known && version.Before(c.Since)
}

// judge compares an answer with the expected outcome. counts is false if the answer neither supports nor
// contradicts the profile.
func judge(p *proxycompat.Profile, expected Outcome, a Answer) (counts, agrees bool) {
	switch {
	case expected == "" || a.Outcome == Forbidden || a.Outcome == Timeout:
		return false, false
	case a.Outcome == expected:
		return true, true
	case a.Outcome == Failed && expected == Refused:
		if worded(a.raw, p.RefusalText(a.Command)) {
			return true, true
		}
		return false, false // an unknown refusal, or an error of the server
	case a.Outcome == Failed && expected == OK:
		return false, false
	}
	return true, false
}
