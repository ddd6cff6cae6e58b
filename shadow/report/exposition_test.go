package report_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scraped is the result of a scrape.
type scraped []scrapedSample

type scrapedSample struct {
	name   string
	labels map[string]string
	value  float64
}

// sum adds up the samples of a name with these labels, names and values in turn.
func (s scraped) sum(name string, labels ...string) (sum float64) {
	for _, sample := range s.having(name, labels...) {
		sum += sample.value
	}
	return sum
}

func (s scraped) having(name string, labels ...string) (found []scrapedSample) {
	for _, sample := range s {
		matches := sample.name == name
		for i := 0; i < len(labels); i += 2 {
			value, has := sample.labels[labels[i]]
			matches = matches && has && value == labels[i+1]
		}
		if matches {
			found = append(found, sample)
		}
	}
	return found
}

const pair = `[a-z]+="(?:[^"\\]|\\["\\n])*"`

var (
	sampleLine = regexp.MustCompile(`^(shadow_[a-z_]+)(?:\{(` + pair + `(?:,` + pair + `)*)\})? (-?[0-9]+(?:\.[0-9]+)?)$`)
	labelPair  = regexp.MustCompile(pair)
	unescape   = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// scrape parses the text format of Prometheus, version 0.0.4. A series must be unique. The golden files show the
// help and the type of each family.
func scrape(t require.TestingT, text string) (out scraped) {
	require.True(t, utf8.ValidString(text))
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		require.True(t, ended)
		require.False(t, strings.ContainsFunc(line, unicode.IsControl), "%q", line)
		if strings.HasPrefix(line, "# ") {
			continue
		}
		parts := sampleLine.FindStringSubmatch(line)
		require.NotNil(t, parts, "%q", line)
		series := parts[1] + "{" + parts[2] + "}"
		require.False(t, seen[series], "twice: %s", line)
		seen[series] = true
		value, err := strconv.ParseFloat(parts[3], 64)
		require.NoError(t, err)
		labels := map[string]string{}
		for _, label := range labelPair.FindAllString(parts[2], -1) {
			name, quoted, _ := strings.Cut(label, "=")
			require.NotContains(t, labels, name)
			labels[name] = unescape.Replace(quoted[1 : len(quoted)-1])
		}
		out = append(out, scrapedSample{parts[1], labels, value})
	}
	return out
}

// Negative controls for scrape.
func TestScrapeRefusesMalformedText(t *testing.T) {
	require.Len(t, scrape(t, "# a\nshadow_a{op=\"x\\\"\\\\\\n,}\"} 1\n").having("shadow_a", "op", "x\"\\\n,}"), 1)
	for _, text := range []string{
		"shadow_a 1",                      // no end
		"shadow_a 1\nshadow_a 2\n",        // twice
		"shadow_a one\n",                  // no number
		"shadow_a{op=\"\"x\"} 1\n",        // not escaped
		"shadow_a{op=\"\\x\"} 1\n",        // no such escape
		"shadow_a{op=\"x\ny\"} 1\n",       // two lines
		"shadow_a{op=\"\xff\"} 1\n",       // no UTF-8
		"shadow_a{op=\"\x00\"} 1\n",       // a control character
		"shadow_a{op=\"x\",op=\"y\"} 1\n", // a label twice
	} {
		fake := new(failed)
		func() {
			defer func() { _ = recover() }()
			scrape(fake, text)
		}()
		assert.True(t, bool(*fake), "%q", text)
	}
}

// failed records a failure instead of failing the test.
type failed bool

func (f *failed) Errorf(string, ...any) { *f = true }
func (*failed) FailNow()                { panic("failed") }
