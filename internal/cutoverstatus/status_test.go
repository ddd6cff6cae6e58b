package cutoverstatus_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
	"github.com/unwatch/unwatch/internal/testing/pagetest"
)

var update = flag.Bool("update", false, "write the golden files")

func now() time.Time { return time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC) }

func ago(d time.Duration) time.Time { return now().Add(-d) }

func process(name string, epoch uint64, pause operate.Pause) operate.Process {
	return operate.Process{Name: name, Epoch: epoch, Build: "v1.4.2", At: ago(7 * time.Second), Pause: pause}
}

func pause(n, p50, p99, most int) operate.Pause {
	const µs = time.Microsecond
	return operate.Pause{Batches: n, P50: time.Duration(p50) * µs, P99: time.Duration(p99) * µs, Max: time.Duration(most) * µs}
}

// copying are the facts of a service that moves every key, with one process behind and a sweep on
// its way.
func copying() cutoverstatus.Facts {
	f := cutoverstatus.Facts{
		Name: "desk", Now: now(), Names: 1_000_000,
		Present: cutover.Stage{Phase: cutover.Copying, Percent: 100, Epoch: 5},
		Next:    cutover.Stage{Phase: cutover.Complete},
		Census: []operate.Process{
			process("desk-0:4711:abcd", 5, pause(12_031, 410, 1_900, 14_200)),
			process("desk-1:4711:efgh", 5, pause(9_870, 390, 2_400, 9_000)),
			process("desk-2:4711:ijkl", 4, pause(2_500, 450, 1_700, 8_000)),
		},
		Sweepers: []operate.Process{process("admin:99:wxyz", 5, pause(31_250, 1_300, 2_900, 8_100))},
		Sample: &operate.Report{
			Scanned: operate.Scanned{Names: 1_000, Chosen: 990}, Open: 250, Equal: 700, ChangedSince: 30,
			Transit: operate.Keys{Count: 2, Names: []string{"room:7", "room:1009"}}, OldestTransit: 1200 * time.Millisecond,
			OtherType: operate.Keys{Count: 7, Names: []string{"queue:1"}}, Gone: 1,
		},
		Records: []cutoverstatus.Record{
			{Verify: &operate.Report{Scanned: operate.Scanned{Names: 9}}},
			{Began: ago(5 * time.Hour), Took: 400 * time.Second, Pass: &operate.Pass{
				Scanned: operate.Scanned{Epoch: 3, Names: 900_000}, Moved: 200_000,
			}},
			{Began: ago(2 * time.Hour), Took: 4 * time.Minute, Verify: &operate.Report{
				Scanned: operate.Scanned{Names: 1_000_000, Chosen: 990_000}, Open: 989_993,
				Transit: operate.Keys{Count: 7}, OldestTransit: 3 * time.Second,
			}},
		},
	}
	f.Sweepers[0].Sweep = &operate.Progress{
		Began: f.Sweepers[0].At.Add(-200 * time.Second), Pass: operate.Pass{Scanned: operate.Scanned{Names: 620_000}, Moved: 500_000},
	}
	f.Stores = []cutoverstatus.Store{{Side: "old"}, {Side: "new"}}
	f.Gates = operate.Ready(f.Present, f.Next, operate.Evidence{Census: f.Census})
	return f
}

// follow are the facts before the first heartbeat.
func follow() cutoverstatus.Facts {
	f := cutoverstatus.Facts{
		Name: "desk", Now: now(), SampleError: "NOPERM no rights for SCAN", Next: cutover.Stage{Phase: cutover.Copying, Percent: 100},
	}
	f.Gates = operate.Ready(f.Present, f.Next, operate.Evidence{})
	return f
}

// reverse are the facts of a frozen way back, when a store fails.
func reverse() cutoverstatus.Facts {
	f := copying()
	f.Present = cutover.Stage{Phase: cutover.Reverse, Freeze: true, Epoch: 6}
	f.Next = cutover.Stage{Phase: cutover.Copying, Percent: 100}
	f.Sweepers, f.Sample = nil, nil
	f.Records[2].Verify.Open, f.Records[2].Verify.TwoHomes.Count = 989_990, 3
	f.Records = append(f.Records, cutoverstatus.Record{
		Began: ago(time.Hour), Took: 250 * time.Second, Pass: &operate.Pass{Scanned: operate.Scanned{Names: 1_000_000}, Moved: 500_000},
	})
	f.Census = append(f.Census, process("a-process-with-a-name-as-long-as-a-pod-has-6f7d9c5b4-x2x9z:1:mnop", 6, operate.Pause{}))
	f.Stores[1].Down, f.ReplidChanges = "connection refused", 2
	f.Census[3].Error = "the new store: store unavailable"
	f.Gates = operate.Ready(f.Present, f.Next, operate.Evidence{Census: f.Census})
	return f
}

func examples() map[string]cutoverstatus.Status {
	down := cutoverstatus.New(reverse())
	down.Error = "the new store: connection refused"
	return map[string]cutoverstatus.Status{"copying": cutoverstatus.New(copying()), "follow": cutoverstatus.New(follow()), "reverse": down}
}

// page renders the status as a page, and checks what every page must be.
func page(t *testing.T, s cutoverstatus.Status) (text string, nodes []*pagetest.Node) {
	t.Helper()
	var page bytes.Buffer
	require.NoError(t, s.WriteHTML(&page))
	nodes = pagetest.Parse(t, page.String())
	pagetest.SelfContained(t, page.String(), nodes)
	pagetest.Accessible(t, nodes)
	return page.String(), nodes
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, name)
}

// The JSON holds all that the text and the page show: both are made of what was read back.
func TestGolden(t *testing.T) {
	style := regexp.MustCompile(`(?s)<style>.*</style>|sha256-[^=]*=`) // golden files do not depend on it
	for name, s := range examples() {
		var text, metrics bytes.Buffer
		require.NoError(t, s.WriteJSON(&text))
		golden(t, name+".json", text.String())
		var back cutoverstatus.Status
		require.NoError(t, json.Unmarshal(text.Bytes(), &back))
		golden(t, name+".txt", back.Text())
		for line := range strings.Lines(back.Text()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, "a terminal has 80 columns")
		}
		require.NoError(t, back.WriteMetrics(&metrics))
		golden(t, name+".prom", metrics.String())
		html, _ := page(t, back)
		golden(t, name+".html", style.ReplaceAllString(html, ""))
	}
}

// The document shows a screen that the tests draw, and lists the metrics.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/cutover.md")
	require.NoError(t, err)
	doc, shown := string(text), examples()["copying"]
	assert.True(t, strings.Contains(doc, "```text\n"+shown.Text()+"```\n"), "copy testdata/copying.txt into docs/cutover.md")
	var metrics bytes.Buffer
	require.NoError(t, shown.WriteMetrics(&metrics))
	names := regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(metrics.String(), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.Contains(t, doc, "`"+name[1]+"`")
	}
}

func TestKeysAreScaled(t *testing.T) {
	f := copying()
	keys := func() *cutoverstatus.Keys { return cutoverstatus.New(f).Keys }
	assert.Equal(t, cutoverstatus.Keys{
		Looked: 990, Estimate: true, At: now(), Old: 250_000, Transit: 2_000, New: 730_000, Stay: 7_000,
		Moving: []string{"room:7", "room:1009"}, Oldest: 1200 * time.Millisecond,
	}, *keys())
	for _, tc := range []struct {
		names         int64
		old, new, all int64
		why           string
	}{
		{1_000, 250, 730, 989, "every name was visited"},
		{900, 250, 730, 989, "names were deleted, or SCAN returned some twice"},
		{1_003, 251, 732, 992, "250.75, 732.19"},
	} {
		f.Names = tc.names
		k := keys()
		assert.Equal(t, []int64{tc.old, tc.new, tc.all}, []int64{k.Old, k.New, k.All()}, tc.why)
		assert.Equal(t, tc.names > 1_000, k.Estimate, tc.why)
	}
	f.Sample = nil
	f.Records[2].Verify.Open, f.Records[2].Verify.TwoHomes.Count = 989_990, 3
	k := keys()
	assert.EqualValues(t, 989_990, k.Old, "the last verify")
	assert.EqualValues(t, 3, k.Wrong)
	assert.Equal(t, ago(2*time.Hour), k.At)
	f.Records = nil
	assert.Nil(t, keys())
}

// A sample that shows no key to move does not say that there is none.
func TestSampleIsNoProof(t *testing.T) {
	for name, full := range map[string]operate.Report{
		"reverse": {Open: 990}, "copying": {Equal: 990},
	} {
		f := copying()
		if f.Sweepers = nil; name == "reverse" {
			f.Present = cutover.Stage{Phase: cutover.Reverse, Epoch: 5}
		}
		full.Scanned = operate.Scanned{Names: 990, Chosen: 990}
		f.Sample = &full
		text := strings.Join(strings.Fields(cutoverstatus.New(f).Text()), " ")
		assert.Contains(t, text, "not yet: perhaps: only 990 of 1,000,000 keys were looked at; sweep until a pass moves none, then verify", name)
		assert.Contains(t, text, "1,000,000 > 99.7 %", name)
		assert.Contains(t, text, "in transit 0 < 0.3 %", name)

		f.Names = 990
		text = strings.Join(strings.Fields(cutoverstatus.New(f).Text()), " ")
		assert.NotContains(t, text, "perhaps", "every name was looked at")
		assert.Contains(t, text, "990 100 %", name)
		assert.Contains(t, text, "in transit 0 0 %", name)
	}
}

func TestSweep(t *testing.T) {
	f := copying()
	w := cutoverstatus.New(f).Sweep
	assert.Equal(t, "admin:99:wxyz", w.Process)
	assert.InDelta(t, 3100, w.Rate, 1e-9, "620,000 names in 200 s")
	assert.InDelta(t, 380_000/3100.0, w.Left.Seconds(), 1e-3)
	f.Sweepers = nil
	w = cutoverstatus.New(f).Sweep
	assert.Empty(t, w.Process)
	assert.Zero(t, w.Left)
	assert.InDelta(t, 900_000/400.0, w.Rate, 1e-9, "the last recorded pass")
	f.Census[1].Sweep = &operate.Progress{Began: now().Add(-17 * time.Second), Pass: operate.Pass{Scanned: operate.Scanned{Names: 50}}}
	assert.InDelta(t, 5, cutoverstatus.New(f).Sweep.Rate, 1e-9, "a process of the service sweeps")
	assert.Equal(t, pause(9_870, 390, 2_400, 9_000), cutoverstatus.New(f).Sweep.Pause)
	f.Census, f.Records[1].Pause = nil, pause(7, 1, 2, 3)
	assert.Contains(t, cutoverstatus.New(f).SweepLine(), "2,250 a second; pause p99 2 µs, max 3 µs")
	f.Records = nil
	assert.Nil(t, cutoverstatus.New(f).Sweep)
}

func TestWayBack(t *testing.T) {
	for _, tc := range []struct {
		change func(*cutoverstatus.Facts)
		want   string
	}{
		{func(*cutoverstatus.Facts) {}, "reverse, then sweep; about 4 min 52 s for 730,000 keys"}, // as now: 500,000 in 200 s
		{func(f *cutoverstatus.Facts) { // not as a later sweep that moved few
			f.Census[0].Sweep = f.Sweepers[0].Sweep
			f.Sweepers[0].Sweep = &operate.Progress{Began: ago(time.Hour), Pass: operate.Pass{Moved: 2}}
		}, "reverse, then sweep; about 4 min 52 s for 730,000 keys"},
		{func(f *cutoverstatus.Facts) { f.Sweepers = nil }, "reverse, then sweep; about 24 min 20 s for 730,000 keys"},
		{func(f *cutoverstatus.Facts) { f.Sweepers, f.Records = nil, nil },
			"reverse, then sweep; 730,000 keys, at a rate that no recorded sweep tells"},
		{func(f *cutoverstatus.Facts) { f.Present.Freeze = true },
			"reverse, then freeze -off, then sweep; about 4 min 52 s for 730,000 keys"},
		{func(f *cutoverstatus.Facts) { f.Present.Phase = cutover.Reverse },
			"forward again: advance -to copying, then sweep; about 1 min 40 s for 250,000 keys"},
		{func(f *cutoverstatus.Facts) { f.Present.Phase = cutover.Complete }, "none: the old store misses all updates since this stage"},
		{func(f *cutoverstatus.Facts) { *f = follow() }, "none is needed: no stage has moved keys"},
	} {
		f := copying()
		tc.change(&f)
		assert.Equal(t, tc.want, cutoverstatus.New(f).BackLine())
	}
}

func TestAskedAndNotYet(t *testing.T) {
	const (
		behind = "epoch 5 is not seen by 1 of 3 processes: desk-2:4711:ijkl"
		sweep  = "about 250,000 keys to move: by a sweep, or when a process updates them"
		stay   = "about 7,000 keys cannot move, because of size or type: verify names them"
	)
	for _, tc := range []struct {
		change func(*cutoverstatus.Facts)
		asked  string
		notYet []string
	}{
		{func(*cutoverstatus.Facts) {}, "every key in the new store", []string{behind, sweep, stay}},
		{func(f *cutoverstatus.Facts) {
			f.Sweepers, f.Present.Freeze = nil, true
			f.Census[0].Error = "the old store: timeout"
			f.Sample.TwoHomes.Count = 1
		}, "every key in the new store", []string{
			behind, "the stage cannot be read by 1 of 3 processes: desk-0:4711:abcd: the old store: timeout",
			"frozen: no move begins before freeze -off", sweep, "no sweep runs", stay,
			"about 1,000 keys in a state that no move makes: verify names them",
		}},
		{func(f *cutoverstatus.Facts) {
			f.Present = cutover.Stage{Phase: cutover.Copying, Percent: 5, Labels: []string{"room", "visitor"}, Epoch: 4}
		}, "5 % of the keys of room, visitor in the new store", []string{stay}},
		{func(f *cutoverstatus.Facts) { f.Present.Phase = cutover.Complete }, "every process uses the new store only", []string{
			behind, "about 250,000 keys in the old store, where no process looks: read them before you delete it",
		}},
		{func(f *cutoverstatus.Facts) { f.Present.Phase = cutover.Reverse }, "every key in the old store", []string{
			behind, "about 730,000 keys to move: by a sweep, or when a process updates them", stay,
		}},
		{func(f *cutoverstatus.Facts) {
			f.Present.Epoch, f.Names = 4, 9
			f.Sample = &operate.Report{Scanned: operate.Scanned{Names: 9, Chosen: 9}, Equal: 9}
		}, "every key in the new store", nil},
	} {
		f := copying()
		tc.change(&f)
		s := cutoverstatus.New(f)
		assert.Equal(t, tc.asked, s.Asked)
		assert.Equal(t, tc.notYet, s.NotYet, tc.asked)
	}
}

// The worst state does not depend on the order of the gates.
func TestWorst(t *testing.T) {
	states := []operate.GateState{operate.GateOpen, operate.GateLater, operate.GateUnknown, operate.GateClosed}
	for worst := range states {
		var gates []operate.Gate
		for _, state := range states[:worst+1] {
			gates = append(gates, operate.Gate{State: state})
			slices.Reverse(gates)
			assert.Equal(t, state, cutoverstatus.Worst(gates))
			slices.Reverse(gates)
			assert.Equal(t, state, cutoverstatus.Worst(gates))
		}
	}
	assert.Equal(t, operate.GateOpen, cutoverstatus.Worst(nil))
}

// Processes with a problem come first, on a screen that has room for six.
func TestProcessesWithAProblemComeFirst(t *testing.T) {
	f := copying()
	for range 20 {
		f.Census = append([]operate.Process{process("well:1:aaaa", 5, operate.Pause{})}, f.Census...)
	}
	s := cutoverstatus.New(f)
	assert.Equal(t, "desk-2:4711:ijkl", s.Processes[0].Name)
	assert.Contains(t, s.Text(), "desk-2:4711:ijkl")
	assert.Contains(t, s.Text(), "and 17 more processes; -json has all")
	f.Census[0].Error = "x"
	assert.Equal(t, "x", cutoverstatus.New(f).Processes[1].Error)
}

func TestPageEscapes(t *testing.T) {
	s := cutoverstatus.New(copying())
	pagetest.Poison(reflect.ValueOf(&s).Elem())
	_, nodes := page(t, s)
	seen := 0
	for _, n := range nodes {
		if strings.Contains(n.Text, pagetest.Attack) && (n.Name == "td" || n.Name == "th" || n.Name == "h1" || n.Name == "title") {
			seen++
		}
	}
	assert.Greater(t, seen, 8)
}

// No text of a status reaches an output raw, and no output but JSON has a whole long name.
func TestHostileTexts(t *testing.T) {
	s := cutoverstatus.New(copying())
	pagetest.Poison(reflect.ValueOf(&s).Elem())
	pagetest.Clean(t, s.Text())
	for name, write := range map[string]func(io.Writer) error{"html": s.WriteHTML, "json": s.WriteJSON, "metrics": s.WriteMetrics} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, write(&out))
			text := out.String()
			if name == "json" {
				assert.Contains(t, text, pagetest.Long)
				text = strings.ReplaceAll(text, pagetest.Long, "")
			}
			pagetest.Clean(t, text)
		})
	}
}

// Without a stage there is nothing to show but the error.
func TestPageWithoutAStage(t *testing.T) {
	s := cutoverstatus.Status{Name: "desk", At: now(), State: operate.GateUnknown, Error: "-old: connection refused"}
	html, _ := page(t, s)
	assert.Contains(t, html, "The stage is unknown")
	assert.Contains(t, html, "-old: connection refused")
	assert.NotContains(t, html, "follow")
}

func TestHandler(t *testing.T) {
	s := examples()["copying"]
	h := cutoverstatus.Handler(func(*http.Request) cutoverstatus.Status { return s })
	serve := func(method, target string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		return w
	}
	w := serve("GET", "/")
	assert.Equal(t, 200, w.Code)
	assert.Equal(t, "5", w.Header().Get("Refresh"))
	policy := pagetest.PolicyOf(pagetest.Parse(t, w.Body.String()))
	assert.Equal(t, policy+"; frame-ancestors 'none'", w.Header().Get("Content-Security-Policy"))
	w = serve("GET", "/?format=json")
	assert.Empty(t, w.Header().Get("Refresh"))
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var back cutoverstatus.Status
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &back))
	assert.Equal(t, s.Stage, back.Stage)
	w = serve("GET", "/metrics")
	assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Contains(t, w.Body.String(), "cutover_keys{state=\"two_homes\"} 0\n")
	assert.Empty(t, serve("HEAD", "/").Body.String())
	assert.Equal(t, 405, serve("POST", "/").Code)
	assert.Equal(t, 400, serve("GET", "/?format=xml").Code)
	s = examples()["reverse"]
	w = serve("GET", "/")
	assert.Equal(t, 503, w.Code)
	assert.Contains(t, w.Body.String(), "connection refused")
	w = serve("GET", "/metrics")
	assert.Equal(t, 200, w.Code, "Prometheus must see which store is down")
	assert.Contains(t, w.Body.String(), "cutover_store_down{store=\"new\"} 1\n")
}
