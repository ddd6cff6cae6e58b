package peers

import (
	"testing"
	"time"
)

func TestDelaysStayWithinTheirBounds(t *testing.T) {
	for try := 1; try < 100; try++ {
		bound := min(500*time.Microsecond<<min(try-1, 20), 32*time.Millisecond)
		if d := fullJitter(try); d < 0 || d >= bound {
			t.Errorf("try %d: %v, want less than %v", try, d, bound)
		}
		if d := shortJitter(try); d < time.Millisecond || d > 5*time.Millisecond {
			t.Errorf("try %d: %v", try, d)
		}
	}
}

func TestEveryNameIsDescribed(t *testing.T) {
	for _, name := range Names() {
		if What(name) == "" {
			t.Errorf("%s is not described", name)
		}
	}
	for _, name := range Keepers() {
		if KeeperWhat(name) == "" {
			t.Errorf("%s is not described", name)
		}
	}
	if _, err := Open("nobody", Options{}); err == nil {
		t.Error("opened nobody")
	}
	if _, err := OpenKeeper("nobody", Options{}, time.Second, nil); err == nil {
		t.Error("opened nobody as a keeper")
	}
	if What("nobody") != "" || !Ours("unwatch-keep") || Ours("watch") {
		t.Error("What or Ours")
	}
}
