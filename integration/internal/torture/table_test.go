package torture

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Even a run of hours with all failures fits on a terminal.
func TestTableFits80Columns(t *testing.T) {
	const many, bad = 999_999, 99_999
	result := func(topology, nemesis, mitigation string) *Result {
		return &Result{
			Topology: topology, Nemesis: nemesis, Mitigation: mitigation, Stall: 99 * time.Second,
			Operations: many, Acknowledged: many, NotWritten: many, Unknown: many, Sections: many,
			Verdict: &Verdict{Lost: bad, Double: bad, Overlap: bad, NotLinearizable: make([]string, bad+1), Leaked: "a goroutine"},
		}
	}
	r := &Report{Config: Config{Seed: 1795357880000034615}}
	for topology, cells := range plan("") {
		for _, p := range cells {
			switch {
			case p.control != nil:
				r.Controls = append(r.Controls, ControlResult{*p.control, result(topology, p.nemesis.Name, ""), true})
			case p.isolation != nil:
				one := result(topology, p.nemesis.Name, "ondemand-100")
				one.Kept, one.Verdict.Dropped = 9.99, bad
				r.Isolations = append(r.Isolations, one)
			case p.trial != nil:
				for _, mitigation := range p.trial.mitigations {
					one := result(topology, p.nemesis.Name, mitigation.Name)
					one.Verdict.Forgiven = true
					r.Mitigations = append(r.Mitigations, one)
				}
			default:
				r.Results = append(r.Results, result(topology, p.nemesis.Name, ""))
			}
		}
	}
	var text bytes.Buffer
	require.NoError(t, r.Table(&text))
	for line := range strings.Lines(text.String()) {
		line = strings.TrimRight(line, "\n")
		assert.LessOrEqual(t, len(line), 80, line)
	}
}
