package plan

import (
	"regexp"
	"slices"
	"testing"

	"github.com/unwatch/unwatch/bench/internal/peers"
)

func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	titles := map[string]bool{}
	for _, s := range Scenarios() {
		if names[s.Name] || titles[s.Title()] && s.Length == 0 {
			t.Errorf("two scenarios are called %s: %s", s.Name, s.Title())
		}
		names[s.Name], titles[s.Title()] = true, true
		known := peers.Names()
		if s.Locks > 0 {
			known = peers.Keepers()
		}
		for _, impl := range s.Impls {
			if !slices.Contains(known, impl) {
				t.Errorf("%s: there is no %s", s.Name, impl)
			}
		}
		if s.Locks > 0 {
			continue
		}
		want := s.Processes * s.Goroutines * max(1, s.Turns)
		switch {
		case s.Accounts > 0:
			want = s.Accounts
		case s.Together > 0:
			want = s.Together
		case s.Hot:
			want = 1
		case s.Zipf > 0:
			want = s.Zipf
		}
		if got := len(distinct(s.keys())); got != want {
			t.Errorf("%s: %d keys, want %d", s.Name, got, want)
		}
	}
}

func TestNamesAreMatchedWhole(t *testing.T) {
	r := &Runner{Scenarios: regexp.MustCompile("^(?:unc1|hot64)$"), Impls: regexp.MustCompile("^(?:watch)$")}
	var got []string
	for _, s := range r.chosen() {
		got = append(got, s.Name)
		if !slices.Equal(s.Impls, []string{"watch"}) {
			t.Errorf("%s with %q", s.Name, s.Impls)
		}
	}
	if !slices.Equal(got, []string{"unc1", "hot64"}) {
		t.Errorf("chose %q", got)
	}
}
