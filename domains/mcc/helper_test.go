package mcc_test

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
)

// The limits of a stored agent, as the package documents them.
const (
	maxSlots = 10_000
	maxEpoch = 1<<53 - 1
)

// at is n minutes after the first time of these tests.
func at(n int) domains.Time {
	return domains.At(time.Date(2026, 11, 20, 9, n, 0, 0, time.UTC))
}

// Invalid ids.
var (
	long    = strings.Repeat("x", 5000)
	garbled = "\xff"
)

// manyGroups are too many groups for an agent.
func manyGroups() []string { return strings.Fields(strings.Repeat("g ", mcc.MaxGroups+1)) }

func layouts() []domains.Layout {
	return []domains.Layout{domains.JSON, domains.Hash, domains.HashByVersion}
}

// stored is a document as it lies in the store. In a hash, each slot has a field.
func stored(t require.TestingT, layout domains.Layout, document string) rmw.Value {
	if layout == domains.JSON {
		return rmw.String(document)
	}
	var fields, slots map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(document), &fields))
	if raw, ok := fields["slots"]; ok {
		require.NoError(t, json.Unmarshal(raw, &slots))
		delete(fields, "slots")
	}
	hash := map[string]string{}
	for name, raw := range fields {
		hash[name] = string(raw)
		if raw[0] == '"' {
			var text string
			require.NoError(t, json.Unmarshal(raw, &text))
			hash[name] = text
		}
	}
	for id, raw := range slots {
		hash["slot:"+id] = string(raw)
	}
	return rmw.Hash(hash)
}
