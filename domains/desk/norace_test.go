//go:build !race

package desk_test

const underRace = false
