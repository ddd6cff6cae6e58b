package report

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPageTexts(t *testing.T) {
	for want, got := range map[string]string{
		"512 bytes": pageBytes(512), "1.87 KiB": pageBytes(1912), "16 MiB": pageBytes(16 << 20),
		"30 d": pageExpiry("720h0m0s"), "none": pageExpiry("none"),
		"All 3 differ": pageHeadline("all 3 differ"), "session/close, two": pageHeadline("session/close, two"), "": pageHeadline(""),
	} {
		assert.Equal(t, want, got)
	}
}

// Small parts of a bar are visible, and the parts fill the bar.
func TestPageBarShowsSmallParts(t *testing.T) {
	bar := newPageBar(Seeded, Tally{
		Eligible: 1_000_000, Compared: 999_996, InFlight: 1, NotCompared: map[Reason]int64{"dropped_queue": 1, "not_applicable": 2},
	}, nil)
	assert.Len(t, bar.Parts, 4)
	for i, part := range bar.Parts {
		assert.GreaterOrEqual(t, part.Width, 0.4-1e-9)
		if i > 0 {
			assert.InDelta(t, bar.Parts[i-1].X+bar.Parts[i-1].Width, part.X, 1e-9)
		}
	}
	assert.InDelta(t, 100, bar.Parts[3].X+bar.Parts[3].Width, 1e-6)
}

// Quantiles of too few calls are left out.
func TestPageLatencyLeavesOutUnknownQuantiles(t *testing.T) {
	var few Latency
	for range 100 {
		few.Record(time.Millisecond)
	}
	cells := pageQuantiles(few)
	assert.Equal(t, []any{figure("1 ms"), figure("1 ms"), figure("1 ms"), figure("–"), int64(100)}, cells)
	assert.Zero(t, (Operation{Candidate: few}).slowdown(), "an unknown path is not the slowest")
}

func TestReadLimitsTheSize(t *testing.T) {
	const most = 1 << 20
	text := `{"schema": 2}`
	_, err := read(strings.NewReader(text+strings.Repeat(" ", most-len(text))), most)
	assert.NoError(t, err)
	_, err = read(strings.NewReader(text+strings.Repeat(" ", most-len(text)+1)), most)
	assert.EqualError(t, err, "report: the file is longer than 1 MB: this is no report")
}

// The guide has exactly one row for each field of a Policy, in order, with its JSON name and default.
func TestGuideListsThePolicy(t *testing.T) {
	text, err := os.ReadFile("../../docs/shadow.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| `Policy` | as JSON | default |")
	require.True(t, found, "docs/shadow.md has no table of the Policy")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:] // after the head
	policy := reflect.ValueOf(Policy{}.withDefaults())
	require.Len(t, rows, policy.NumField())
	for i, row := range rows {
		field := policy.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value := fmt.Sprint(policy.Field(i).Interface())
		if policy.Field(i).Kind() == reflect.Slice {
			value = "none"
		}
		assert.True(t, strings.HasPrefix(row, fmt.Sprintf("| `%s` | `%s` | %s | ", field.Name, name, value)), "%s: %s", field.Name, row)
	}
}
