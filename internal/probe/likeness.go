package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// Likeness is the similarity of an address to a profile.
type Likeness struct {
	Profile string `json:"profile"` // its name without a version: "codis"
	Lookup  string `json:"lookup"`  // for proxycompat.Lookup: "codis@7.0"
	Title   string `json:"title"`
	Agreed  int    `json:"agreed"` // commands with the predicted outcome
	Asked   int    `json:"asked"`  // commands with a visible prediction
	Worded  int    `json:"worded"` // refusals with its error text

	profile *proxycompat.Profile
}

// Differs returns the number of commands with a different outcome.
func (l Likeness) Differs() int { return l.Asked - l.Agreed }

func (l Likeness) share() float64 { return float64(l.Agreed) / float64(max(l.Asked, 1)) }

// Difference is a command with an outcome that the profile did not predict.
type Difference struct {
	Command  string  `json:"command"`
	Case     string  `json:"case,omitempty"`
	Expected Outcome `json:"expected"`
	Observed Outcome `json:"observed"`
	Text     string  `json:"text,omitempty"`

	question question
}

// likeness compares the answers with all profiles, most similar first.
func likeness(answers []Answer, o oracle, profiles []*proxycompat.Profile) []Likeness {
	out := make([]Likeness, 0, len(profiles))
	for _, p := range profiles {
		base, _, _ := strings.Cut(p.Name(), "@")
		l := Likeness{Profile: base, Lookup: p.Name(), Title: p.Title(), profile: p}
		for _, a := range answers {
			counts, agrees := judge(p, o.expect(p, a.question), a)
			switch {
			case counts && agrees:
				l.Asked++
				l.Agreed++
				if a.Outcome == Refused && worded(a.raw, p.RefusalText(a.Command)) {
					l.Worded++
				}
			case counts:
				l.Asked++
			}
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b Likeness) int {
		return cmp.Or(cmp.Compare(b.share(), a.share()), cmp.Compare(b.Worded, a.Worded), cmp.Compare(b.Asked, a.Asked))
	})
	return out
}

// differences lists the answers that the profile did not predict, in the order of the questions.
func differences(answers []Answer, o oracle, p *proxycompat.Profile) []Difference {
	out := []Difference{}
	for _, a := range answers {
		expected := o.expect(p, a.question)
		if counts, agrees := judge(p, expected, a); counts && !agrees {
			out = append(out, Difference{
				Command: a.Command, Case: a.Case, Expected: expected, Observed: a.Outcome, Text: a.Text, question: a.question,
			})
		}
	}
	return out
}

// profiles returns all known profiles and the given one. If the version of the server is known, profiles
// without a version get it.
func profiles(given *proxycompat.Profile, server Server) ([]*proxycompat.Profile, *proxycompat.Profile, error) {
	var all []*proxycompat.Profile
	for _, name := range proxycompat.Names() {
		p, err := proxycompat.Lookup(name)
		if err != nil {
			return nil, nil, fmt.Errorf("probe: %w", err)
		}
		all = append(all, over(p, server))
	}
	if given == nil {
		return all, nil, nil
	}
	given = over(given, server)
	known := slices.ContainsFunc(all, func(p *proxycompat.Profile) bool { return p.Name() == given.Name() })
	if !known {
		all = append(all, given)
	}
	return all, given, nil
}

func over(p *proxycompat.Profile, server Server) *proxycompat.Profile {
	if p.Backend() != (proxycompat.Version{}) || server.Version == "" {
		return p
	}
	if versioned, err := p.Over(server.Version); err == nil {
		return versioned
	}
	return p // an invalid version
}
