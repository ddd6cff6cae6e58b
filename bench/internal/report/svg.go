package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"

	"github.com/unwatch/unwatch/bench/internal/stats"
)

// Chart is a bar chart with a bar per item and series.
type Chart struct {
	Title  string
	Unit   string
	Log    bool // for values that are orders of magnitude apart
	Series []string
	Items  []Item
}

// Item is one implementation.
type Item struct {
	Label string
	Ours  bool
	Bars  []stats.Spread // one per series; N == 0: no bar
	Notes []string       // text in place of a bar
}

// The measures of a chart, in pixels.
const (
	chartWidth = 820
	labelWidth = 150
	valueWidth = 90
	barHeight  = 13
	itemGap    = 9
	headHeight = 68
	footHeight = 14
)

// colors returns the colors of the series, for this project or for peers. They also differ
// in brightness.
func colors(ours bool) []string {
	if ours {
		return []string{"#1f6f43", "#7cc49a"}
	}
	return []string{"#5b6b7b", "#b4c0cb"}
}

// SVG draws the chart.
func (c Chart) SVG() string {
	var b strings.Builder
	height := headHeight + len(c.Items)*(len(c.Series)*barHeight+itemGap) + footHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" `+
		`font-family="system-ui, sans-serif" font-size="12">`+"\n", chartWidth, height, chartWidth, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(c.Title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", chartWidth, height)
	fmt.Fprintf(&b, `<text x="12" y="22" font-size="15" font-weight="600" fill="#1b1f24">%s</text>`+"\n", escape(c.Title))
	c.legend(&b)
	scale := c.scale()
	c.grid(&b, scale, height)
	y := headHeight
	for _, item := range c.Items {
		c.item(&b, item, scale, y)
		y += len(c.Series)*barHeight + itemGap
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c Chart) legend(b *strings.Builder) {
	x := 12
	for i, name := range c.Series {
		fmt.Fprintf(b, `<rect x="%d" y="34" width="10" height="10" fill="%s"/>`, x, colors(false)[i])
		fmt.Fprintf(b, `<rect x="%d" y="34" width="10" height="10" fill="%s"/>`, x+11, colors(true)[i])
		fmt.Fprintf(b, `<text x="%d" y="43" fill="#444c56">%s</text>`+"\n", x+26, escape(name))
		x += 46 + 7*len(name)
	}
	unit := c.Unit
	if c.Log {
		unit += ", logarithmic"
	}
	fmt.Fprintf(b, `<text x="%d" y="43" text-anchor="end" fill="#444c56">%s; the line is min to max</text>`+"\n",
		chartWidth-12, escape(unit))
}

// scale maps a value to a length in pixels.
func (c Chart) scale() func(float64) float64 {
	low, high := math.Inf(1), 0.0
	for _, item := range c.Items {
		for _, s := range item.Bars {
			if s.N > 0 && s.Max > 0 {
				high = max(high, s.Max)
				low = min(low, max(s.Min, s.Max/1000))
			}
		}
	}
	room := float64(chartWidth - labelWidth - valueWidth)
	if high == 0 {
		return func(float64) float64 { return 0 }
	}
	if !c.Log {
		return func(v float64) float64 { return max(0, v/high*room) }
	}
	from := math.Floor(math.Log10(low) - 0.05)
	to := math.Log10(high)
	return func(v float64) float64 {
		if v <= 0 {
			return 0
		}
		return max(1, (math.Log10(v)-from)/(to-from)*room)
	}
}

// grid draws a line at every power of ten, or at a handful of round values.
func (c Chart) grid(b *strings.Builder, scale func(float64) float64, height int) {
	room := float64(chartWidth - labelWidth - valueWidth)
	step := func(v float64) float64 { return v * 10 }
	first := 1e-3
	if !c.Log {
		width := 1e-6
		for scale(width*10) < room/1.5 && width < 1e12 {
			width *= 10
		}
		first = width
		step = func(v float64) float64 { return v + width }
	}
	for v, n := first, 0; scale(v) <= room+1 && n < 24; v, n = step(v), n+1 {
		if x := scale(v); x > 1 {
			fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#e3e7eb"/>`+"\n",
				labelWidth+x, headHeight-4, labelWidth+x, height-footHeight)
			fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="9" text-anchor="middle" fill="#8b949e">%s</text>`+"\n",
				labelWidth+x, headHeight-7, stats.Short(v))
		}
		if scale(v) == 0 && scale(step(v)) == 0 {
			break
		}
	}
}

func (c Chart) item(b *strings.Builder, item Item, scale func(float64) float64, y int) {
	weight := "400"
	if item.Ours {
		weight = "700"
	}
	middle := y + len(c.Series)*barHeight/2 + 4
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end" font-weight="%s" fill="#1b1f24">%s</text>`+"\n",
		labelWidth-8, middle, weight, escape(item.Label))
	for i, s := range item.Bars {
		top := y + i*barHeight
		if s.N == 0 {
			if i < len(item.Notes) && item.Notes[i] != "" {
				fmt.Fprintf(b, `<text x="%d" y="%d" font-style="italic" fill="#8a2d2d">%s</text>`+"\n",
					labelWidth+4, top+barHeight-3, escape(item.Notes[i]))
			}
			continue
		}
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`,
			labelWidth, top, scale(s.Median), barHeight-2, colors(item.Ours)[i])
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#111111"/>`,
			labelWidth+scale(s.Min), top+barHeight/2, labelWidth+scale(s.Max), top+barHeight/2)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="11" fill="#1b1f24">%s</text>`+"\n",
			labelWidth+scale(s.Max)+5, top+barHeight-3, escape(stats.Short(s.Median)))
	}
}

// escape makes text safe within an SVG.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder does not fail
	return b.String()
}
