//go:build race

package migration

const raceEnabled = true
