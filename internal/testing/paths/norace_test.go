//go:build !race

package paths_test

const raceEnabled = false
