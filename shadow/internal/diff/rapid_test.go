package diff_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

// everywhere returns templates of a field at all depths of a document.
func everywhere(field string) (all []string) {
	above := []string{""}
	for range depth + 1 {
		var deeper []string
		for _, a := range above {
			all = append(all, strings.TrimPrefix(a+"."+field, "."))
			deeper = append(deeper, strings.TrimPrefix(a+".*", "."), a+"[]")
		}
		above = deeper
	}
	return all
}

// inForms returns both documents as strings, each in one of its forms.
func inForms(t *rapid.T, a, b any) (rmw.Value, rmw.Value) {
	forms := rapid.Uint64()
	return encode(a, forms.Draw(t, "form of a"), false), encode(b, forms.Draw(t, "form of b"), false)
}

func TestReencodedIsTheSame(t *testing.T) {
	c := compile(t, diff.Rules{Sets: everywhere("set")})
	rapid.Check(t, func(t *rapid.T) {
		document := documents.Draw(t, "document")
		a, b := inForms(t, document, document)
		require.True(t, agree(t, c, a, a).Same)
		r := agree(t, c, a, b)
		require.Empty(t, found(r))
		require.Equal(t, a.Text() != b.Text(), r.EncodingOnly)
		require.True(t, agree(t, c, hash("plain", "7", "document", a.Text()), hash("plain", "7", "document", b.Text())).Same)
	})
}

// One change is found once, at its place; within a set, in that set; and only if its place is not ignored.
func TestMutationIsFoundInPlace(t *testing.T) {
	ordered, sets := compile(t, diff.Rules{}), compile(t, diff.Rules{Sets: everywhere("set")})
	ignoring := compile(t, diff.Rules{Sets: everywhere("set"), Ignore: everywhere("b")})
	rapid.Check(t, func(t *rapid.T) {
		before := documents.Draw(t, "document")
		m := rapid.SampledFrom(mutations(before, "", "")).Draw(t, "mutation")
		form := rapid.Uint64().Draw(t, "form")
		// Without a rule for sets, the order of their elements has to be the same.
		r := agree(t, ordered, encode(before, form, true), encode(m.after, form+1, true))
		require.Len(t, r.Differences, 1)
		require.Zero(t, r.More)
		require.Equal(t, m.template, r.Differences[0].Template)

		a, b := inForms(t, before, m.after)
		r = agree(t, sets, a, b)
		require.NotEmpty(t, r.Differences)
		for _, d := range r.Differences {
			if m.set == "" {
				require.Equal(t, m.template, d.Template)
			} else {
				require.True(t, strings.HasPrefix(d.Template, m.set), "%s is not in %s", d.Template, m.set)
			}
		}

		ignored := slices.Contains(strings.Split(strings.ReplaceAll(m.template, "[]", ""), "."), "b")
		require.Equal(t, ignored, agree(t, ignoring, a, b).Same)
	})
}

// No part of a report shows content, unless a rule shows it.
func TestContentIsRedacted(t *testing.T) {
	content := regexp.MustCompile(`[A-Z]{4}|[0-9]{9}`) // a token has eight digits
	redactor := diff.NewRedactor(nil)
	hidden := compile(t, diff.Rules{Sets: everywhere("set")})
	shown := compile(t, diff.Rules{Sets: everywhere("set"), Show: everywhere("a")})
	told := func(t require.TestingT, c *diff.Comparer, a, b rmw.Value) (hidden, shown string) {
		for _, d := range agree(t, c, a, b).Differences {
			hidden += d.Template + "\n" + redactor.Path(d) + "\n"
			tokens := redactor.Token(d.A) + "\n" + redactor.Token(d.B) + "\n"
			if d.Template == "a" || strings.HasSuffix(d.Template, ".a") {
				shown += tokens
			} else {
				hidden += tokens
			}
		}
		return hidden, shown
	}
	_, control := told(t, shown, rmw.String(`{"a":"ONE9"}`), rmw.String(`{"a":"OTHER"}`))
	assert.Regexp(t, content, control)
	rapid.Check(t, func(t *rapid.T) {
		a, b := inForms(t, documents.Draw(t, "before"), documents.Draw(t, "after"))
		some, _ := told(t, shown, a, b)
		require.NotRegexp(t, content, some)
		for _, pair := range [][2]rmw.Value{
			{a, b}, {rmw.String(a.Text() + "#"), b}, {hash("x", a.Text()), hash("x", a.Text()+"#")},
		} {
			none, inA := told(t, hidden, pair[0], pair[1])
			require.NotRegexp(t, content, none+inA)
		}
	})
}
