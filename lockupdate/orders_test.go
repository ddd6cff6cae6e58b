package lockupdate_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// orders plays actors in every order of their commands that begins with prefix, and calls check after each command. The game
// returns the actors from a new start. It ends at the first error of check. A number in prefix chooses one of the actors that
// have not ended.
func orders(
	t *testing.T, prefix []int, game func(step func(actor int) func(what string)) (actors []func() error, check func() error),
) (n int, failed error) {
	t.Helper()
	fixed := len(prefix)
	for {
		n++
		waiting := make([]chan struct{}, 8)
		events := make(chan int) // of an actor that waits, or has ended
		actors, check := game(func(actor int) func(string) {
			return func(string) {
				events <- actor
				<-waiting[actor]
			}
		})
		var runnable, choices, options []int
		for i, act := range actors {
			waiting[i] = make(chan struct{})
			go func() {
				err := act()
				if err != nil {
					failed = errors.Join(failed, err)
				}
				events <- -1 - i
			}()
			if e := <-events; e >= 0 {
				runnable = append(runnable, i)
			}
		}
		for len(runnable) > 0 {
			choice := 0
			if len(choices) < len(prefix) {
				choice = prefix[len(choices)]
			}
			choices, options = append(choices, choice), append(options, len(runnable))
			i := runnable[choice]
			waiting[i] <- struct{}{}
			if e := <-events; e < 0 {
				runnable = slices.Delete(runnable, choice, choice+1)
			}
			if err := check(); err != nil && failed == nil {
				failed = fmt.Errorf("order %v: %w", choices, err)
			}
		}
		last := len(choices) - 1
		for last >= fixed && choices[last]+1 == options[last] {
			last--
		}
		if failed != nil || last < fixed {
			return n, failed
		}
		prefix = slices.Concat(choices[:last], []int{choices[last] + 1})
	}
}
