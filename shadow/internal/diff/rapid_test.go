package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

const depth = 3

// everywhere returns templates of a field at all depths of a document.
func everywhere(field string) []string {
	above := []string{""}
	var all []string
	for range depth + 2 {
		var deeper []string
		for _, a := range above {
			all = append(all, strings.TrimPrefix(a+"."+field, "."))
			deeper = append(deeper, strings.TrimPrefix(a+".*", "."), a+"[]")
		}
		above = deeper
	}
	return all
}

// mutated draws a document, and the same with one change.
func mutated(t *rapid.T) (before, after any, m mutation) {
	before = documents(depth).Draw(t, "document")
	after = clone(before)
	m = rapid.SampledFrom(mutations(after, "", "")).Draw(t, "mutation")
	m.make()
	return before, after, m
}

// inForms returns both documents as strings, each in one of its forms.
func inForms(t *rapid.T, a, b any) (rmw.Value, rmw.Value) {
	x := encode(a, rapid.Uint64().Draw(t, "form of a"), false)
	y := encode(b, rapid.Uint64().Draw(t, "form of b"), false)
	return rmw.String(x), rmw.String(y)
}

func TestReencodedIsTheSame(t *testing.T) {
	c := compile(t, diff.Rules{Sets: everywhere("set")})
	rapid.Check(t, func(t *rapid.T) {
		document := documents(depth).Draw(t, "document")
		a, b := inForms(t, document, document)
		require.True(t, agree(t, c, a, a).Same)
		r := agree(t, c, a, b)
		require.Empty(t, found(r))
		require.Equal(t, a.Text() != b.Text(), r.EncodingOnly)

		fieldA, fieldB := hash("plain", "7", "document", a.Text()), hash("plain", "7", "document", b.Text())
		require.True(t, agree(t, c, fieldA, fieldB).Same)
	})
}

// One change is found once, at its place.
func TestMutationIsFoundInPlace(t *testing.T) {
	c := compile(t, diff.Rules{})
	rapid.Check(t, func(t *rapid.T) {
		before, after, m := mutated(t)
		seed := rapid.Uint64().Draw(t, "form")
		// Without a rule for sets, the order of their elements has to be the same.
		r := agree(t, c, rmw.String(encode(before, seed, true)), rmw.String(encode(after, seed+1, true)))
		require.Len(t, r.Differences, 1)
		require.Zero(t, r.More)
		require.Equal(t, m.template, r.Differences[0].Template)
	})
}

// A change in a set is found in that set.
func TestMutationInSetsIsFound(t *testing.T) {
	c := compile(t, diff.Rules{Sets: everywhere("set")})
	rapid.Check(t, func(t *rapid.T) {
		before, after, m := mutated(t)
		a, b := inForms(t, before, after)
		r := agree(t, c, a, b)
		require.NotEmpty(t, r.Differences)
		for _, d := range r.Differences {
			if m.set == "" {
				require.Equal(t, m.template, d.Template)
			} else {
				require.True(t, strings.HasPrefix(d.Template, m.set), "%s is not in %s", d.Template, m.set)
			}
		}
	})
}

// Ignored places do not count, and all others do.
func TestIgnored(t *testing.T) {
	c := compile(t, diff.Rules{Sets: everywhere("set"), Ignore: everywhere("b")})
	rapid.Check(t, func(t *rapid.T) {
		before, after, m := mutated(t)
		a, b := inForms(t, before, after)
		ignored := slices.Contains(strings.Split(strings.ReplaceAll(m.template, "[]", ""), "."), "b")
		r := agree(t, c, a, b)
		require.Equal(t, ignored, r.Same)
	})
}

// No part of a report shows content, unless a rule shows it.
func TestContentIsRedacted(t *testing.T) {
	redactor := diff.NewRedactor(nil)
	hidden := compile(t, diff.Rules{Sets: everywhere("set")})
	shown := compile(t, diff.Rules{Sets: everywhere("set"), Show: everywhere("a")})
	report := func(t require.TestingT, c *diff.Comparer, a, b rmw.Value) string {
		var out strings.Builder
		for _, d := range agree(t, c, a, b).Differences {
			for _, part := range []string{d.Template, redactor.Path(d), redactor.Token(d.A), redactor.Token(d.B)} {
				out.WriteString(part + "\n")
			}
		}
		return out.String()
	}
	assert.Contains(t, report(t, shown, rmw.String(`{"a":"one"}`), rmw.String(`{"a":"other"}`)), "other", "the control")
	rapid.Check(t, func(t *rapid.T) {
		before, after := documents(depth).Draw(t, "before"), documents(depth).Draw(t, "after")
		a, b := inForms(t, before, after)
		all := map[string]bool{}
		var permitted strings.Builder
		note := func(name, content string) {
			all[content] = true
			if name == "a" {
				permitted.WriteString(content + "\n")
			}
		}
		leaves(before, "", note)
		leaves(after, "", note)
		none, some := report(t, hidden, a, b), report(t, shown, a, b)
		none += report(t, hidden, rmw.String(a.Text()+"#"), b) + report(t, hidden, hash("x", a.Text()), hash("x", a.Text()+"#"))
		for content := range all {
			require.NotContains(t, none, content)
			if !strings.Contains(permitted.String(), content) {
				require.NotContains(t, some, content)
			}
		}
	})
}

// leaves calls f for all strings and numbers that are long enough to be recognised.
func leaves(v any, name string, f func(name, content string)) {
	switch v := v.(type) {
	case string:
		if len(v) >= 4 {
			f(name, v)
		}
	case num:
		for _, spelling := range v.spellings() {
			if len(spelling) >= 9 {
				f(name, spelling)
			}
		}
	case *list:
		for _, item := range v.items {
			leaves(item, "", f)
		}
	case map[string]any:
		for name, value := range v {
			leaves(value, name, f)
		}
	}
}
