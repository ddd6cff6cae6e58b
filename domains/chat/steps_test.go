package chat_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
)

// operations are all, the common ones more than once.
var operations = []string{
	"Create", "Join", "Join", "Join", "Join", "Leave", "Leave", "Remove", "Remove", "Describe", "SetCap", "SetRole", "Mute",
	"TransferOwner", "Post", "Post", "Post", "MarkRead", "MarkRead", "Touch", "Close",
}

// someSteps are some operations by some of four people. Most sequences begin with a
// room. Clocks go on, stand still and go back; now and then an operation comes again, or
// one comes with the id of another.
func someSteps(t *rapid.T) []step {
	n := rapid.IntRange(1, 120).Draw(t, "steps")
	people := []string{"ann", "bob", "cid", "dan"}
	owner := rapid.SampledFrom([]string{"", "", "ann", "ann", "bob", "cid", "dan", "eve"})
	role := rapid.SampledFrom([]string{"", "visitor", "agent", "agent", "observer", "chair", "r\xff", strings.Repeat("r", 65)})
	text := rapid.SampledFrom([]string{"", "a", "b", "c", strings.Repeat("n", 256), strings.Repeat("n", 257)})
	number := rapid.SampledFrom([]int{0, 0, 1, 1, 2, 2, 3, 3, 4, 5, -1})
	clock := sec(0)
	var steps []step
	for i := range n {
		clock += domains.Time(rapid.SampledFrom([]int{0, 0, 1, 1000, 60_000, -1, -30_000}).Draw(t, "tick"))
		s := step{
			id:   fmt.Sprint(i),
			op:   rapid.SampledFrom(operations).Draw(t, "op"),
			at:   clock,
			by:   owner.Draw(t, "by"),
			who:  rapid.SampledFrom(people).Draw(t, "who"),
			role: role.Draw(t, "role"),
			flag: rapid.IntRange(0, 3).Draw(t, "flag") == 0,
			text: text.Draw(t, "text"),
		}
		switch s.number = number.Draw(t, "number"); {
		case s.op == "MarkRead":
			s.number = max(s.number, 0)
		case s.op == "Join" && rapid.IntRange(0, 30).Draw(t, "nobody") == 0:
			s.who = ""
		case s.op == "Close" && rapid.Bool().Draw(t, "not yet"):
			s.op = "Touch"
		}
		switch {
		case i == 0 && rapid.IntRange(0, 9).Draw(t, "make") > 0:
			s.op = "Create"
		case i > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0:
			s = steps[rapid.IntRange(0, i-1).Draw(t, "which")]
			s.at = clock
		case i > 0 && rapid.IntRange(0, 30).Draw(t, "of another") == 17:
			s.id = steps[rapid.IntRange(0, i-1).Draw(t, "which")].id
		}
		steps = append(steps, s)
	}
	return steps
}
