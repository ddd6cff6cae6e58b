package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

const observeDocs = "../docs/observe/"

// alert is a rule of alerts.yml.
type alert struct{ Alert, Expr string }

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	text, err := os.ReadFile(observeDocs + "alerts.yml")
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []alert } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// always makes an alert's expression return a series also while the alert does not fire.
func (a alert) always() string {
	return strings.NewReplacer("> ", "> bool ", "== ", "== bool ").Replace(a.Expr)
}

// dashboardQueries returns the queries of the dashboard as Grafana sends them.
func dashboardQueries(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(observeDocs + "dashboard.json")
	require.NoError(t, err)
	var d struct {
		Panels     []struct{ Targets []struct{ Expr string } }
		Templating struct{ List []struct{ Definition string } }
	}
	require.NoError(t, json.Unmarshal(text, &d))
	require.LessOrEqual(t, len(d.Panels), 12)
	for _, p := range d.Panels {
		require.NotEmpty(t, p.Targets)
		for _, target := range p.Targets {
			all = append(all, strings.NewReplacer("$__rate_interval", "5m", "$job", ".*").Replace(target.Expr))
		}
	}
	for _, v := range d.Templating.List {
		if m := regexp.MustCompile(`^label_values\((.*), job\)$`).FindStringSubmatch(v.Definition); m != nil {
			all = append(all, "count by (job) ("+m[1]+")")
		}
	}
	return all
}

// Each alert has a test in alerts_test.yml in which it fires, and one in which it does not: promtool fails if
// the alert never fires, or always.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool := servers.Promtool(t)
	run := func(dir string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		out, err := run(observeDocs, args...)
		require.NoError(t, err, out)
	}
	rules, err := os.ReadFile(observeDocs + "alerts.yml")
	require.NoError(t, err)
	tests, err := os.ReadFile(observeDocs + "alerts_test.yml")
	require.NoError(t, err)
	page, err := os.ReadFile("../docs/observe.md")
	require.NoError(t, err)
	for _, a := range alerts(t) {
		assert.Contains(t, string(page), "\n### "+a.Alert+"\n", "the runbook")
		assert.Contains(t, string(rules), "runbook: docs/observe.md#"+strings.ToLower(a.Alert)+"\n")
	}
	// Negative controls.
	exprs := regexp.MustCompile(`(?s)(\n        expr: ).*?(\n        (?:for|labels):)`)
	for _, expr := range []string{"vector(0) > 1", "vector(1)"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/alerts.yml", exprs.ReplaceAll(rules, []byte("${1}"+expr+"${2}")), 0o600))
		require.NoError(t, os.WriteFile(dir+"/alerts_test.yml", tests, 0o600))
		out, err := run(dir, "test", "rules", "alerts_test.yml")
		require.Error(t, err, expr)
		for _, a := range alerts(t) {
			assert.Contains(t, out, "alertname: "+a.Alert+",", expr)
		}
	}
}

// The alert and the panel on differences leave out exactly the classes that do not block a cut-over.
func TestDriftClasses(t *testing.T) {
	t.Parallel()
	var harmless []string
	for _, class := range report.Classes() {
		if !class.Blocks() {
			harmless = append(harmless, string(class))
		}
	}
	slices.Sort(harmless)
	found := 0
	for _, name := range []string{"alerts.yml", "dashboard.json"} {
		text, err := os.ReadFile(observeDocs + name)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`class!~\\?"([a-z_|]+)`).FindAllSubmatch(text, -1) {
			found++
			classes := strings.Split(string(m[1]), "|")
			slices.Sort(classes)
			assert.Equal(t, harmless, classes, name)
		}
	}
	assert.Equal(t, 2, found)
}

// monitored is a Prometheus that scrapes a service, its shadow, a cut-over, and a report of migrate-check live.
type monitored struct {
	t    *testing.T
	addr string
}

func monitor(t *testing.T, jobs map[string]http.Handler) *monitored {
	t.Helper()
	rules, err := filepath.Abs(observeDocs + "alerts.yml")
	require.NoError(t, err)
	mux, config := http.NewServeMux(), "global: {scrape_interval: 1s, evaluation_interval: 200ms}\nrule_files: ["+rules+"]\nscrape_configs:\n"
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for path, handler := range jobs {
		mux.Handle(path, handler)
		config += fmt.Sprintf("  - {job_name: %s, metrics_path: %s, static_configs: [{targets: ['%s']}]}\n",
			strings.Split(path, "/")[1], path, server.Listener.Addr())
	}
	return &monitored{t, servers.Prometheus(t, config).Addr}
}

// get decodes the data of an answer of the API.
func (m *monitored) get(ctx context.Context, path string, data any) {
	m.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.addr+"/api/v1/"+path, nil)
	require.NoError(m.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(m.t, err)
	defer resp.Body.Close()
	answer := struct {
		Error string
		Data  any
	}{Data: data}
	require.NoError(m.t, json.NewDecoder(resp.Body).Decode(&answer))
	require.Empty(m.t, answer.Error, path)
}

// unanswered returns the queries that have no series with a number.
func (m *monitored) unanswered(ctx context.Context, queries []string) []string {
	m.t.Helper()
	return slices.DeleteFunc(slices.Clone(queries), func(query string) bool {
		var data struct{ Result []struct{ Value [2]any } }
		m.get(ctx, "query?query="+url.QueryEscape(query), &data)
		for _, series := range data.Result {
			if series.Value[1] != "NaN" {
				return true
			}
		}
		return false
	})
}

// active returns the names and jobs of the alerts whose expression holds.
func (m *monitored) active(ctx context.Context) map[string]bool {
	m.t.Helper()
	var data struct {
		Alerts []struct{ Labels map[string]string }
	}
	m.get(ctx, "alerts", &data)
	names := map[string]bool{}
	for _, a := range data.Alerts {
		names[a.Labels["alertname"]+" "+a.Labels["job"]] = true
	}
	return names
}

// Faults of a real service make Prometheus answer all queries of the dashboard, and make the alerts active.
// With DASHBOARD_SVG set, the panels are drawn into that file. How long an alert then waits is for TestAlertRules.
func TestLongDashboardAndAlerts(t *testing.T) {
	t.Parallel()
	long.Only(t)
	const limit = 2 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), limit+time.Minute)
	defer cancel()
	w, moving := newFaultyService(t), newFaultyCutover(t)
	var away atomic.Bool
	f := shadowed(t, onRedis(t), lockupdate.Config{}, func(s rmw.Store) rmw.Store { return unreachable{dropping{s}, &away} })
	var found atomic.Pointer[live.Report]
	prom := monitor(t, map[string]http.Handler{
		"/service":        promhttp.HandlerFor(w.registry, promhttp.HandlerOpts{}),
		"/shadow/metrics": f.fleet[0].Handler(),
		"/cutover":        moving.metrics,
		"/live": http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			if r := found.Load(); r != nil {
				assert.NoError(t, r.WritePrometheus(rw))
			}
		}),
	})
	began := time.Now()
	// Counters increase from one scrape to another.
	require.NoError(t, w.update("healthy", nil))
	for len(prom.unanswered(ctx, []string{
		`rate(unwatch_locks_lost_total[1m])`, `rate(shadow_verdict{job="shadow"}[1m])`,
		`rate(cutover_old_store_replid_changes_total[1m])`,
	})) > 0 {
		require.NoError(t, ctx.Err())
	}
	assert.Empty(t, prom.active(ctx), "active before any fault")

	found.Store(looked(t, live.Address{Host: w.server.Addr}, live.Config{Profile: proxycompat.Codis32()}, func() {
		updates(t, cas.New(named(t, w.server.Addr, "legacy"), cas.Config{}), 3)
	}))
	queries, silent := dashboardQueries(t), map[string]bool{}
	for _, a := range alerts(t) {
		queries = append(queries, a.always())
		silent[a.Alert] = true
	}
	moving.strike()
	var down sync.WaitGroup
	defer down.Wait()
	outage, end := context.WithCancel(ctx)
	defer end()
	down.Go(func() { w.outage(outage) })
	picture := os.Getenv("DASHBOARD_SVG")
	for round := uint64(0); len(queries)+len(silent) > 0 || picture != "" && time.Since(began) < 45*time.Second; round++ {
		require.Less(t, time.Since(began), limit, "without a series: %q; not active: %v", queries, silent)
		// Alerts on a share of the traffic only hold if each round has its faults, and little besides.
		w.loseReply() // alone, or renewals of the same flush would lose their replies, too
		var faults sync.WaitGroup
		for _, fault := range []func(){w.loseLock, w.refuseRenewal, w.waitLong, w.conflict, w.combine, w.together} {
			faults.Go(fault)
		}
		faults.Wait()
		f.traffic(round, 3)
		for range 5 {
			require.NoError(t, w.update("healthy", nil))
		}
		queries = prom.unanswered(ctx, queries)
		for alert := range prom.active(ctx) {
			name, _, _ := strings.Cut(alert, " ")
			delete(silent, name)
		}
		away.Store(!silent["ShadowDrift"]) // then comparisons are missed
		if !silent["CutoverTwoHomes"] && !silent["CutoverTransit"] && !silent["CutoverFailover"] && len(queries) == 0 {
			moving.relay.Down(0)
		}
	}
	if picture != "" {
		prom.drawDashboard(ctx, t, picture, began)
	}
	// Negative control.
	misspelt := []string{`sum by (backend) (unwatch_locks_hold)`}
	assert.Equal(t, misspelt, prom.unanswered(ctx, misspelt))
}
