package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A terminal gets a progress line that is erased at the end, and other outputs none.
func TestProgress(t *testing.T) {
	for _, live := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var errs bytes.Buffer
			r := &rehearsal{stderr: &errs, live: live}
			x := &run{name: "lockupdate", stream: make([]event, 4000)}
			x.done.Store(1234)
			stop := r.watch(x)
			time.Sleep(4*time.Second + time.Millisecond)
			stop()
			fits(t, strings.ReplaceAll(errs.String(), "\r", "\n"))
			if live {
				require.Contains(t, errs.String(), "lockupdate: 1,234 of 4,000, 4.0 s")
				require.True(t, strings.HasSuffix(errs.String(), "\r\x1b[K"))
				require.NotContains(t, errs.String(), "\n")
			} else {
				require.Empty(t, errs.String())
			}
		})
	}
}
