package symbolic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/symbolic"
	"github.com/unwatch/unwatch/proxycompat"
)

// proxies are one of each rule by which proxies find a slot.
func proxies(t testing.TB) map[string]*proxycompat.Profile {
	out := map[string]*proxycompat.Profile{}
	for _, name := range []string{"codis", "cluster", "twemproxy", "redis"} {
		p, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		out[name] = p
	}
	tagged, err := proxycompat.Twemproxy05().WithHashTag("{}")
	require.NoError(t, err)
	out["twemproxy with tags"] = tagged
	return out
}

// letter is a symbol; n is a number, which has no braces.
func letter(name string) symbolic.Part {
	return symbolic.Part{Root: name, Label: name, Plain: strings.HasPrefix(name, "n")}
}

// templates draws the makings of a key. Few different parts, so that many keys have something
// in common.
func templates() *rapid.Generator[symbolic.Value] {
	texts := []string{"{", "}", "{}", "{t}", "{u}", ":a", ":b", "x", "}{", "{x}"}
	part := rapid.OneOf(
		rapid.Map(rapid.SampledFrom(texts), symbolic.Constant),
		rapid.Map(rapid.SampledFrom([]string{"s", "t", "n", "n2"}), func(name string) symbolic.Value {
			return symbolic.Value{letter(name)}
		}),
	)
	return rapid.Map(rapid.SliceOfN(part, 0, 6), func(parts []symbolic.Value) symbolic.Value { return symbolic.Concat(parts...) })
}

// fill puts texts in the place of symbols.
func fill(v symbolic.Value, with map[string]string) string {
	var b strings.Builder
	for _, p := range v {
		if name, ok := p.Root.(string); ok {
			b.WriteString(with[name])
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// refute holds a proof against random texts in the place of the symbols.
func refute(t *rapid.T, p *proxycompat.Profile, a, b symbolic.Value, proof symbolic.Proof) error {
	texts := rapid.SampledFrom([]string{"", "x", "t", "u", "{", "}", "{}", "{t}", "a}b", "a{b", "{x}{y}"})
	if p.Tag("{}c") != "" {
		texts = rapid.SampledFrom([]string{"x", "t", "u", ":a", "17"}) // see Compare
	}
	with := map[string]string{}
	for _, name := range []string{"s", "t"} {
		with[name] = texts.Draw(t, name)
	}
	for _, name := range []string{"n", "n2"} {
		with[name] = fmt.Sprint(rapid.IntRange(0, 3).Draw(t, name))
	}
	first, second := fill(a, with), fill(b, with)
	same := p.SameSlot(first, second)
	switch {
	case proof == symbolic.Together && !same:
		return fmt.Errorf("%s and %s are not together: %q and %q", a, b, first, second)
	case proof == symbolic.Apart && same:
		return fmt.Errorf("%s and %s are not apart: %q and %q", a, b, first, second)
	}
	return nil
}

func TestProofsHold(t *testing.T) {
	for name, p := range proxies(t) {
		t.Run(name, func(t *testing.T) {
			proven := map[symbolic.Proof]int{}
			rapid.Check(t, func(rt *rapid.T) {
				a := templates().Draw(rt, "a")
				b := rapid.OneOf(templates(), rapid.Just(a)).Draw(rt, "b")
				proof := symbolic.Compare(p, a, b)
				proven[proof]++
				for range 20 {
					if err := refute(rt, p, a, b, proof); err != nil {
						rt.Fatal(err)
					}
				}
				if proof != symbolic.Compare(p, b, a) {
					rt.Fatalf("%s and %s: it depends on which is first", a, b)
				}
			})
			t.Log(proven)
			assert.Positive(t, proven[symbolic.Together])
		})
	}
}

// What proves too much is found out.
func TestWrongProofsAreRefuted(t *testing.T) {
	cluster, err := proxycompat.Lookup("cluster")
	require.NoError(t, err)
	for name, wrong := range map[string]func(p *proxycompat.Profile, a, b symbolic.Value) symbolic.Proof{
		"the rule of another proxy": func(_ *proxycompat.Profile, a, b symbolic.Value) symbolic.Proof {
			return symbolic.Compare(cluster, a, b)
		},
		"symbols have no braces": func(p *proxycompat.Profile, a, b symbolic.Value) symbolic.Proof {
			return symbolic.Compare(p, allPlain(a), allPlain(b))
		},
		"different is apart": func(p *proxycompat.Profile, a, b symbolic.Value) symbolic.Proof {
			if proof := symbolic.Compare(p, a, b); proof != symbolic.Unproven {
				return proof
			}
			return symbolic.Apart
		},
		"the last tag counts": func(p *proxycompat.Profile, a, b symbolic.Value) symbolic.Proof {
			x, y := a[max(0, len(a)-1):], b[max(0, len(b)-1):]
			return symbolic.Compare(p, x, y)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var found error
			rapid.Check(t, func(rt *rapid.T) {
				for range 2000 {
					if found != nil {
						return
					}
					a, b := templates().Draw(rt, "a"), templates().Draw(rt, "b")
					if err := refute(rt, proxycompat.Codis32(), a, b, wrong(proxycompat.Codis32(), a, b)); err != nil {
						found = err
					}
				}
				rt.Fatal("nothing was found out")
			})
			t.Log(found)
		})
	}
}

func allPlain(v symbolic.Value) (out symbolic.Value) {
	for _, p := range v {
		p.Plain = true
		out = append(out, p)
	}
	return out
}

// An unshut brace is no tag, and Explain tells a key without a tag from a key with another one.
func TestCompare(t *testing.T) {
	codis, text := proxies(t)["codis"], symbolic.Constant
	assert.Equal(t, symbolic.Apart, symbolic.Compare(codis, text("{a"), text("a")))
	tagged := symbolic.Concat(text("{a}"), symbolic.Value{letter("s")})
	assert.Contains(t, symbolic.Explain(codis, tagged, symbolic.Value{letter("n")}), "have not both a hash tag")
}
