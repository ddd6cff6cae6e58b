package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A control that shows nothing is a failure, too.
func TestVerdict(t *testing.T) {
	p := plan{Seed: 1, Stock: 10, Processes: 2, Workers: 2}
	for _, tt := range []struct {
		name  string
		audit audit
		code  int
		want  string
	}{
		{naiveRound, audit{Oversold: 7}, exitOK, "VERDICT: naive sold 7 items that were not there."},
		{naiveRound, audit{Lost: []int{1}}, exitBroken, "did not oversell, so nothing was shown"},
		{unwatchRound, audit{}, exitOK, "VERDICT: unwatch sold "},
		{unwatchRound, audit{Twice: []int{1}}, exitBroken, "A PROMISE WAS BROKEN.\n   1 buyers bought twice\n"},
	} {
		var out bytes.Buffer
		f := flashsale{screen: newScreen(&out), rounds: []*round{{name: tt.name, plan: p, audit: tt.audit}}}
		assert.Equal(t, tt.code, f.verdict(), out.String())
		assert.Contains(t, out.String(), tt.want)
	}
}

func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := screen{out: &out}
	s.item("label", red, "%s", strings.Repeat("word ", 30))
	fits(t, out.String())
	assert.Equal(t, "   label       word ", out.String()[:20])
	assert.Contains(t, out.String(), "\n               word ", "what follows is below")

	out.Reset()
	s.colour = true
	s.item("label", red, "text")
	assert.Equal(t, "   label       \x1b[31mtext\x1b[0m\n", out.String())

	file, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	defer file.Close()
	assert.False(t, newScreen(file).colour, "a file is no terminal")
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 24000: "24,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, count(n))
	}
}
