package cutover_test

import (
	"testing"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

type flips = paths.Flips

func TestLongContract(t *testing.T) {
	for name, stage := range map[string]cutover.Source{
		"follow":  cutover.Stage{},
		"copying": cutover.Stage{Phase: cutover.Copying, Percent: 100},
		"half":    cutover.Stage{Phase: cutover.Copying, Percent: 50},
		"reverse": cutover.Stage{Phase: cutover.Reverse},
		"flips":   flips{},
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "copying":
				long.Repeats(t)
			case "follow", "half", "reverse":
				long.Only(t)
			}
			rmwtest.RunFake(t, func(t *testing.T) rmwtest.Target { return paths.Moving(t, stage) })
		})
	}
}
