package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
)

// Commands that run at the same time lose no record of each other.
func TestRecordsAtTheSameTime(t *testing.T) {
	f := &cutoverFlags{passes: filepath.Join(t.TempDir(), "passes.json")}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				assert.NoError(t, f.record(cutoverstatus.Record{Pass: &operate.Pass{Scanned: operate.Scanned{Epoch: 3}, Moved: 7}}))
			}
		})
	}
	all.Wait()
	records, err := f.records("status")
	require.NoError(t, err)
	assert.Len(t, f.evidence(nil, records).Passes, 200)
}

// A crash cuts the last record anywhere. The records before and after it are read.
func TestRecordsAfterACrash(t *testing.T) {
	f := &cutoverFlags{passes: filepath.Join(t.TempDir(), "passes.json")}
	pass := func(moved int) cutoverstatus.Record {
		return cutoverstatus.Record{Pass: &operate.Pass{Scanned: operate.Scanned{Epoch: 3}, Moved: moved}}
	}
	require.NoError(t, f.record(pass(1)))
	first, err := os.ReadFile(f.passes)
	require.NoError(t, err)
	require.NoError(t, f.record(pass(2)))
	whole, err := os.ReadFile(f.passes)
	require.NoError(t, err)
	for n := len(first); n < len(whole)-2; n++ { // at -2 the record has its last brace
		require.NoError(t, os.WriteFile(f.passes, whole[:n], 0o600))
		require.NoError(t, f.record(pass(3)))
		records, err := f.records("advance")
		require.NoError(t, err, "cut after %d bytes", n)
		passes := f.evidence(nil, records).Passes
		require.Len(t, passes, 2, "cut after %d bytes", n)
		assert.Equal(t, []int{1, 3}, []int{passes[0].Moved, passes[1].Moved})
	}
	require.NoError(t, os.WriteFile(f.passes, []byte("{\"epoch\":3}\nsweep\n"), 0o600))
	_, err = f.records("status")
	assert.ErrorContains(t, err, "passes.json, line 2: ")
}
