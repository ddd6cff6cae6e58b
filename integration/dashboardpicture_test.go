package integration

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line is a series of a panel: values at seconds since the start, and its legend.
type line struct {
	legend string
	points [][2]float64
}

func (l line) zero() bool {
	return !slices.ContainsFunc(l.points, func(p [2]float64) bool { return p[1] != 0 })
}

// drawDashboard writes what the panels of the dashboard show since start.
func (m *monitored) drawDashboard(ctx context.Context, t *testing.T, file string, start time.Time) {
	t.Helper()
	text, err := os.ReadFile(observeDocs + "dashboard.json")
	require.NoError(t, err)
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &d))
	const columns, width, height = 2, 480, 180
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="11">`+"\n",
		columns*width, (len(d.Panels)+columns-1)/columns*height)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="#ffffff"/>`)
	for i, p := range d.Panels {
		var lines []line
		for _, target := range p.Targets {
			lines = append(lines, m.lines(ctx, target.Expr, target.LegendFormat, start)...)
		}
		if moving := slices.DeleteFunc(slices.Clone(lines), line.zero); len(moving) > 0 {
			lines = moving
		}
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*width, i/columns*height)
		drawPanel(&b, p.Title, lines, width, height, time.Since(start).Seconds())
		fmt.Fprintln(&b, "</g>")
	}
	fmt.Fprintln(&b, "</svg>")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
}

// lines returns the series of a query since start.
func (m *monitored) lines(ctx context.Context, expr, legend string, start time.Time) (all []line) {
	m.t.Helper()
	var data struct {
		Result []struct {
			Metric map[string]string
			Values [][2]any
		}
	}
	query := strings.NewReplacer("$__rate_interval", "5s", "$job", ".*").Replace(expr)
	m.get(ctx, fmt.Sprintf("query_range?query=%s&start=%d&end=%d&step=0.25",
		url.QueryEscape(query), start.Unix(), time.Now().Unix()), &data)
	for _, series := range data.Result {
		l := line{legend: regexp.MustCompile(`{{(\w+)}}`).ReplaceAllStringFunc(legend, func(s string) string {
			return series.Metric[strings.Trim(s, "{}")]
		})}
		for _, v := range series.Values {
			at, _ := v[0].(float64)
			text, _ := v[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			require.NoError(m.t, err)
			if !math.IsNaN(value) && !math.IsInf(value, 0) {
				l.points = append(l.points, [2]float64{at - float64(start.Unix()), value})
			}
		}
		if len(l.points) > 0 {
			all = append(all, l)
		}
	}
	return all
}

var panelColors = []string{"#1f6f43", "#c2571a", "#2b5fa8", "#8a3fa0", "#5b6b7b", "#b08a00"}

// drawPanel draws lines, of which the first have a legend.
func drawPanel(b *strings.Builder, title string, lines []line, width, height int, seconds float64) {
	const left, top, bottom = 44.0, 72.0, 10.0
	most := 0.0
	for _, l := range lines {
		for _, p := range l.points {
			most = max(most, p[1])
		}
	}
	if most == 0 {
		most = 1
	}
	right, base := float64(width)-10, float64(height)-bottom
	fmt.Fprintf(b, `<text x="8" y="16" font-size="12" font-weight="600" fill="#1b1f24">%s</text>`+"\n", escaped(title))
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" text-anchor="end" fill="#5b6b7b">%.3g</text>`+"\n", left-4, top+4, most)
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" text-anchor="end" fill="#5b6b7b">0</text>`+"\n", left-4, base)
	fmt.Fprintf(b, `<path d="M%.0f %.0fV%.0fH%.0f" fill="none" stroke="#b4c0cb"/>`+"\n", left, top, base, right)
	for i, l := range lines {
		color := panelColors[i%len(panelColors)]
		if i < len(panelColors) {
			fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", 8+i%2*width/2, 30+i/2*13, color, escaped(l.legend))
		}
		var path strings.Builder
		for j, p := range l.points {
			step := "L"
			if j == 0 || p[0]-l.points[j-1][0] > 1 { // a gap
				step = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", step, left+p[0]/seconds*(right-left), base-p[1]/most*(base-top))
			if j == len(l.points)-1 {
				path.WriteString("h.1") // or a line of one point would not show
			}
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5" stroke-linecap="round"/>`+"\n", path.String(), color)
	}
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}
