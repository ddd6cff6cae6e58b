package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"as  it  is", []string{"as  it  is"}},
		{"one two three", []string{"one two", "three"}},
		{"1234567890123", []string{"1234567890", "123"}},
		{"a 1234567890123 b", []string{"a", "1234567890", "123 b"}},
		{"a\nb", []string{"a", "b"}},
		{"ääääääääää ö", []string{"ääääääääää", "ö"}},
	} {
		assert.Equal(t, tt.want, wrap(tt.text, 10), "%q", tt.text)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 24000: "24,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, count(n))
	}
}

// A terminal gets a progress line, which is erased at the end. Other outputs get none.
func TestProgress(t *testing.T) {
	for _, live := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			s := &screen{out: &out, live: live, colour: live}
			ticks := 0
			stop := s.watch("lockupdate", 4000, func() int64 { return 1234 }, func() { ticks++ })
			time.Sleep(time.Second + time.Millisecond)
			stop()
			s.line(s.paint(green, "done"))
			require.Equal(t, 10, ticks)
			if !live {
				require.Equal(t, "done\n", out.String())
				return
			}
			lines := strings.Split(out.String(), "\r")
			require.Contains(t, lines[0], "1,234 of 4,000")
			require.Equal(t, "\x1b[K\x1b[32mdone\x1b[0m\n", lines[len(lines)-1])
			fits(t, strings.Join(lines, "\n"))
		})
	}
}
