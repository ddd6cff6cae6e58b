package mcc_test

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/internal/testing/entities"
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
func manyGroups() []string { return strings.Fields(strings.Repeat("g ", 65)) }

// stored is a document as it lies in the store.
func stored(t require.TestingT, layout domains.Layout, document string) rmw.Value {
	return entities.Stored(t, layout, document, "slots", "slot:")
}
