package report_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

func TestCheck(t *testing.T) {
	seeded := func(change func(*report.Tally)) func(*report.Report) { return tally(report.Seeded, change) }
	for want, change := range map[string]func(*report.Report){
		"session/close, seeded: 46,199 calls eligible, 46,198 compared, not compared or in flight": seeded(func(t *report.Tally) { t.Eligible++ }),
		"with a class":              seeded(func(t *report.Tally) { t.Classes[report.Match]++ }),
		"session/close: a count is": seeded(func(t *report.Tally) { t.InFlight = -1 }),
		"dropped_rate: a count":     seeded(func(t *report.Tally) { t.NotCompared[notcompared.DroppedRate] = -1 }),
		"no-op: a count is":         func(r *report.Report) { closing(r).Outcomes["no-op"] = -1 },
		"outcomes of calls":         func(r *report.Report) { closing(r).Outcomes["ok"]++ },
		"1 ttl difference": func(r *report.Report) {
			closing(r).Findings = []report.Finding{{Comparator: report.Seeded, Class: report.TTLDiffers, Count: 1}}
		},
		"close, value: a count is": func(r *report.Report) {
			closing(r).Findings = []report.Finding{{Comparator: report.Seeded, Class: report.ValueDiffers, Count: -1}}
		},
		"contended, 0 audited":      func(r *report.Report) { closing(r).Audited = 0 },
		"has 3 bytes":               func(r *report.Report) { closing(r).Keys = report.KeySketch{1, 2, 3} },
		`a comparator "x"`:          func(r *report.Report) { closing(r).Tallies["x"] = report.Tally{} },
		`a class "x"`:               seeded(func(t *report.Tally) { t.Classes["x"] = 0 }),
		"is there twice":            func(r *report.Report) { r.Operations = append(r.Operations, r.Operations[0]) },
		"schema 7, not 2":           func(r *report.Report) { r.Schema = 7 },
		"-1 % of the keys":          func(r *report.Report) { r.Percent = -1 },
		"NaN %":                     func(r *report.Report) { r.Percent = math.NaN() },
		"before it started":         func(r *report.Report) { r.Taken = r.Started.Add(-time.Second) },
		"health: a count":           func(r *report.Report) { r.Health.QueueMost = -1 },
		"health, unavailable: a co": func(r *report.Report) { r.Health.Legacy.Errors["unavailable"] = -1 },
		"minute 13:45: a count":     func(r *report.Report) { r.Peak.Busiest.Dropped = -1 },
		"calibration: a count is -": func(r *report.Report) { r.Calibration.Compared = -1 },
	} {
		r := reporttest.Ready()
		change(r)
		assert.ErrorContains(t, r.Check(), want)
		assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State, want)
	}
}
