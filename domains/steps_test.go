package domains_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

func TestSteps(t *testing.T) {
	boom, keep := errors.New("boom"), fmt.Errorf("nothing to do: %w", rmw.Keep)
	for name, test := range map[string]struct {
		steps []error
		want  error
		runs  int
	}{
		"none":                  {nil, rmw.Keep, 0},
		"all change":            {[]error{nil, nil}, nil, 2},
		"none changes":          {[]error{rmw.Keep, keep}, rmw.Keep, 2},
		"the first changes":     {[]error{nil, rmw.Keep}, nil, 2},
		"the last changes":      {[]error{keep, nil}, nil, 2},
		"the first fails":       {[]error{boom, nil}, boom, 1},
		"one fails after all":   {[]error{nil, rmw.Keep, boom, nil}, boom, 3},
		"a refusal is an error": {[]error{nil, errTooLoud}, errTooLoud, 2},
	} {
		runs := 0
		var steps []func() error
		for _, err := range test.steps {
			steps = append(steps, func() error { runs++; return err })
		}
		assert.Equal(t, test.want, domains.Steps(steps...), name)
		assert.Equal(t, test.runs, runs, name)
	}
}
