package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A terminal gets a progress line that is erased at the end, and other outputs a plain line every
// second.
func TestProgress(t *testing.T) {
	for _, live := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var out, errs bytes.Buffer
			s := &screen{out: &out, progress: &errs, live: live, colour: live}
			ticks := 0
			stop := s.watch("lockupdate", 4000, func() int64 { return 1234 }, func() { ticks++ })
			time.Sleep(4*time.Second + time.Millisecond)
			stop()
			s.line(s.paint(green, "done"))
			fits(t, strings.ReplaceAll(errs.String(), "\r", "\n"))
			if !live {
				require.Equal(t, 4, ticks)
				require.Equal(t, "done\n", out.String())
				require.Equal(t, 4, strings.Count(errs.String(), "1,234 of 4,000"))
				require.Equal(t, 4, strings.Count(errs.String(), "\n"))
				return
			}
			require.Equal(t, 40, ticks)
			require.Equal(t, "\x1b[32mdone\x1b[0m\n", out.String())
			require.Contains(t, errs.String(), "1,234 of 4,000")
			require.True(t, strings.HasSuffix(errs.String(), "\r\x1b[K"))
			require.NotContains(t, errs.String(), "\n")
		})
	}
}
