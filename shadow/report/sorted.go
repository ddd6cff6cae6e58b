package report

import (
	"cmp"
	"maps"
	"slices"
)

// sortedKeys makes the order of a map the same each time.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
