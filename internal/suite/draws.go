package suite

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// Draws draws the choices of a program.
type Draws struct {
	*rapid.T
	habits map[string]int
}

// NewDraws returns the draws of one program.
func NewDraws(t *rapid.T) *Draws { return &Draws{T: t, habits: map[string]int{}} }

// N draws a number below n.
func (d *Draws) N(n int, label string) int { return rapid.IntRange(0, 1<<16-1).Draw(d.T, label) % n }

// Habit draws a number below n; half of the time it is the one that the program had first for the label. Many steps of one
// kind find what needs several of them.
func (d *Draws) Habit(n int, label string) int {
	if first, ok := d.habits[label]; ok && d.N(2, "as before") == 1 {
		return first % n
	}
	i := d.N(n, label)
	if _, ok := d.habits[label]; !ok {
		d.habits[label] = i
	}
	return i
}

// Once draws true once in n times.
func (d *Draws) Once(n int, label string) bool { return d.N(n, label) == n-1 }

// Some draws least to most things.
func Some[T any](d *Draws, label string, least, most int, draw func() T) []T {
	one := rapid.Custom(func(t *rapid.T) T {
		outer := d.T
		d.T = t
		defer func() { d.T = outer }()
		return draw()
	})
	return rapid.SliceOfN(one, least, most).Draw(d.T, label)
}

// GoText prints a text as Go. Long runs of one byte become a call of strings.Repeat.
func GoText(s string) string {
	var parts []string
	plain := 0
	for i := 0; i < len(s); {
		n := 1
		for i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		if n >= 64 {
			if plain < i {
				parts = append(parts, strconv.QuoteToASCII(s[plain:i]))
			}
			parts = append(parts, fmt.Sprintf("strings.Repeat(%+q, %d)", s[i:i+1], n))
			plain = i + n
		}
		i += n
	}
	if plain < len(s) || len(parts) == 0 {
		parts = append(parts, strconv.QuoteToASCII(s[plain:]))
	}
	return strings.Join(parts, "+")
}

// GoDuration prints a duration as Go.
func GoDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d%time.Hour == 0:
		return fmt.Sprintf("%d*time.Hour", d/time.Hour)
	case d%time.Second == 0:
		return fmt.Sprintf("%d*time.Second", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%d*time.Millisecond", d/time.Millisecond)
	}
	return strconv.FormatInt(int64(d), 10)
}
