package htmlpage

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// schemes returns the colours of the light and of the dark scheme.
func schemes(t *testing.T) map[string]map[string]string {
	t.Helper()
	light, dark, found := strings.Cut(style, "@media screen and (prefers-color-scheme: dark)")
	require.True(t, found)
	all := map[string]map[string]string{"light": {}, "dark": {}}
	property := regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)
	for name, text := range map[string]string{"light": light, "dark": dark} {
		for _, match := range property.FindAllStringSubmatch(text, -1) {
			all[name][match[1]] = match[2]
		}
	}
	require.Len(t, all["dark"], len(all["light"]), "a colour of one scheme is missing in the other")
	return all
}

// luminance is the relative luminance of WCAG 2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	var channels [3]uint8
	_, err := fmt.Sscanf(colour, "#%02x%02x%02x", &channels[0], &channels[1], &channels[2])
	require.NoError(t, err, "%q", colour)
	linear := func(c uint8) float64 {
		v := float64(c) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(channels[0]) + 0.7152*linear(channels[1]) + 0.0722*linear(channels[2])
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	low, high := luminance(t, a), luminance(t, b)
	if low > high {
		low, high = high, low
	}
	return (high + 0.05) / (low + 0.05)
}

func TestContrast(t *testing.T) {
	assert.InDelta(t, 21, contrast(t, "#000000", "#ffffff"), 1e-9, "the measure itself")
	pairs := []struct {
		front, back string
		least       float64
	}{
		// Text.
		{"ink", "ground", 7}, {"ink", "card", 7}, {"soft", "ground", 4.5}, {"soft", "card", 4.5},
		{"link", "ground", 4.5}, {"link", "card", 4.5},
		{"good", "card", 4.5}, {"bad", "card", 4.5}, {"open", "card", 4.5},
		{"ink", "good-tint", 7}, {"ink", "bad-tint", 7}, {"ink", "open-tint", 7}, {"soft", "bad-tint", 4.5},
		{"good", "good-tint", 4.5}, {"bad", "bad-tint", 4.5}, {"open", "open-tint", 4.5},
		{"card", "good", 4.5}, {"card", "bad", 4.5}, {"card", "open", 4.5}, // the sign in its seal
		// Graphics.
		{"inflight", "card", 3}, {"focus", "ground", 3}, {"focus", "card", 3},
		{"missed", "card", 3}, {"compared", "card", 2.5},
	}
	for scheme, colours := range schemes(t) {
		for _, pair := range pairs {
			front, back := colours[pair.front], colours[pair.back]
			assert.GreaterOrEqual(t, contrast(t, front, back), pair.least, "%s: %s on %s", scheme, pair.front, pair.back)
		}
	}
}

// Only properties follow the colour schemes, and TestContrast.
func TestColoursAreCSSProperties(t *testing.T) {
	_, rules, _ := strings.Cut(style, "* { box-sizing")
	assert.NotRegexp(t, `#[0-9a-f]{3,8}\b`, rules)
	assert.NotRegexp(t, `\b(rgb|hsl|oklch)a?\(`, rules)
	for _, use := range regexp.MustCompile(`var\(--([a-z-]+)\)`).FindAllStringSubmatch(rules, -1) {
		if name := use[1]; name != "tone" && name != "tint" {
			assert.Contains(t, schemes(t)["light"], name)
		}
	}
}
