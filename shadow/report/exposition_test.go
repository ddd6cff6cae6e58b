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

var (
	helpLine   = regexp.MustCompile(`^# HELP (shadow_[a-z]+(?:_[a-z]+)*) [A-Z0-9][^\\]*\.$`)
	typeLine   = regexp.MustCompile(`^# TYPE (shadow_[a-z_]+) (counter|gauge|histogram)$`)
	sampleLine = regexp.MustCompile(`^(shadow_[a-z_]+)(?:\{(.+)\})? (-?[0-9]+(?:\.[0-9]+)?)$`)
	labelPair  = regexp.MustCompile(`^([a-z]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)`)
)

// scrape parses the text format of Prometheus, version 0.0.4. It is stricter than any scraper: each
// family needs one help and one type before its samples, and a series must be unique.
func scrape(t require.TestingT, text string) scraped {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	require.True(t, utf8.ValidString(text))
	require.True(t, text == "" || strings.HasSuffix(text, "\n"))
	var out scraped
	kinds, seen := map[string]string{}, map[string]bool{} // by family, and by series
	family, helped := "", ""
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		require.False(t, strings.ContainsFunc(line, unicode.IsControl), "%q", line)
		if help := helpLine.FindStringSubmatch(line); help != nil {
			require.Equal(t, family, helped, "a family without a type, or without a sample")
			helped = help[1]
			continue
		}
		if kind := typeLine.FindStringSubmatch(line); kind != nil {
			family = kind[1]
			require.Equal(t, helped, family)
			require.NotContains(t, kinds, family)
			require.Equal(t, kind[2] == "counter", strings.HasSuffix(family, "_total"), family)
			kinds[family] = kind[2]
			continue
		}
		parts := sampleLine.FindStringSubmatch(line)
		require.NotNil(t, parts, "%q", line)
		require.Equal(t, helped, family)
		sample := scrapedSample{name: parts[1], labels: labelsOf(t, parts[2])}
		require.False(t, seen[parts[1]+"{"+parts[2]+"}"], "twice: %s", line)
		seen[parts[1]+"{"+parts[2]+"}"] = true
		var err error
		sample.value, err = strconv.ParseFloat(parts[3], 64)
		require.NoError(t, err)
		if kinds[family] == "histogram" {
			require.Contains(t, []string{family + "_bucket", family + "_sum", family + "_count"}, sample.name)
		} else {
			require.Equal(t, family, sample.name)
		}
		out = append(out, sample)
	}
	return out
}

func labelsOf(t require.TestingT, text string) map[string]string {
	labels := map[string]string{}
	for text != "" {
		pair := labelPair.FindStringSubmatch(text)
		require.NotNil(t, pair, "%q", text)
		require.NotContains(t, labels, pair[1])
		labels[pair[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(pair[2])
		text = text[len(pair[0]):]
	}
	return labels
}

// Negative controls for scrape.
func TestScrapeRefusesMalformedText(t *testing.T) {
	const head = "# HELP shadow_a Some.\n# TYPE shadow_a gauge\n"
	require.Len(t, scrape(t, head+"shadow_a{op=\"x\\\"\\\\\\n,}\"} 1\n").having("shadow_a", "op", "x\"\\\n,}"), 1)
	for _, text := range []string{
		"shadow_a 1\n",                                 // no head
		head + "shadow_a 1",                            // no end
		head + "shadow_b 1\n",                          // of another family
		head + "shadow_a 1\nshadow_a 2\n",              // twice
		head + "shadow_a one\n",                        // no number
		head + "shadow_a{op=\"\"x\"} 1\n",              // not escaped
		head + "shadow_a{op=\"\\x\"} 1\n",              // no such escape
		head + "shadow_a{op=\"x\ny\"} 1\n",             // two lines
		head + "shadow_a{op=\"\xff\"} 1\n",             // no UTF-8
		head + "shadow_a{op=\"\x00\"} 1\n",             // a control character
		head + "shadow_a{op=\"x\",op=\"y\"} 1\n",       // a label twice
		head + "shadow_a 1\n" + head + "shadow_a 1\n",  // a family twice
		strings.ReplaceAll(head, "gauge", "counter"),   // no total
		"# HELP shadow_a Some.\n# HELP shadow_b So.\n", // no type
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
