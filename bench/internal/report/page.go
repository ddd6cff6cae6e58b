package report

import (
	"bytes"
	"embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/plan"
	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

//go:embed performance.tmpl tables.tmpl
var templates embed.FS

// Write writes the pages performance.md and results/performance.md, and the figures, below the folder docs.
func Write(docs string, f *result.File) error {
	figures := filepath.Join(docs, "performance")
	if err := os.RemoveAll(figures); err != nil { // removes figures of deleted scenarios
		return err
	}
	for _, dir := range []string{figures, filepath.Join(docs, "results")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, figure := range Figures(f) {
		if err := os.WriteFile(filepath.Join(figures, figure.Name+".svg"), []byte(figure.Chart.SVG()), 0o644); err != nil {
			return err
		}
	}
	pages, data, err := content(f)
	if err != nil {
		return err
	}
	for name, tmpl := range map[string]string{"performance.md": "performance.tmpl", "results/performance.md": "tables.tmpl"} {
		var b bytes.Buffer
		if err := pages.ExecuteTemplate(&b, tmpl, data); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(docs, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// content returns the templates of both pages, and their data.
func content(f *result.File) (pages *template.Template, data map[string]any, err error) {
	pages, err = template.New("").Funcs(template.FuncMap{
		"what": peers.What, "keeper": peers.KeeperWhat, "cell": cell,
		"day":     func(t time.Time) string { return t.Format(time.DateOnly) },
		"minutes": func(d time.Duration) string { return stats.Short(d.Minutes()) },
		"shell":   func(args []string) string { return strings.Join(args, " ") },
	}).ParseFS(templates, "*.tmpl")
	targets := Targets(f)
	return pages, map[string]any{
		"File": f, "Machine": f.Machine, "Took": f.Ended.Sub(f.Began), "Tables": Tables(f), "Holds": HoldTables(f),
		"Targets": targets, "Missed": judged(targets, "MISSED"), "Restated": judged(targets, "restated"),
		"Unmeasured": len(judged(targets, "not measured")), "Figures": Figures(f), "Peers": peerVersions(f),
		"Impls": peers.Names(), "Keepers": peers.Keepers(),
		"Loud": loud(f), "Quiet": result.Quiet, "Network": networks(f), "Slots": len(f.Slots),
	}, err
}

// cell escapes text for a cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

func peerVersions(f *result.File) []string {
	var list []string
	for path, version := range f.Machine.Modules {
		for _, peer := range []string{"go-redis/v9", "redsync/v4", "bsm/redislock", "redis/rueidis"} {
			if strings.HasSuffix(path, peer) {
				list = append(list, path+" "+version)
			}
		}
	}
	slices.Sort(list)
	return list
}

func networks(f *result.File) []string {
	var list []string
	for _, name := range []string{"loopback", "delay"} {
		if took := f.RoundTrip[name]; took > 0 {
			list = append(list, fmt.Sprintf("%s %v", name, took.Round(10*time.Microsecond)))
		}
	}
	return list
}

// loud lists the scenarios that ran on a busy machine.
func loud(f *result.File) []string {
	worst := map[string]float64{}
	for i := range f.Slots {
		s := &f.Slots[i]
		worst[s.Scenario] = math.Max(worst[s.Scenario], s.ForeignCores)
	}
	for i := range f.Holds {
		h := &f.Holds[i]
		worst[h.Scenario] = math.Max(worst[h.Scenario], h.ForeignCores)
	}
	var list []string
	for _, s := range plan.Scenarios() {
		if v := worst[s.Name]; v > result.Quiet {
			list = append(list, fmt.Sprintf("%s (%.2f)", s.Name, v))
		}
	}
	return list
}
