package integration

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/cutoverstatus"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/shadow/report"
)

// The pages of a shadow and of a cut-over in a real browser: their fit on a phone, and keyboard navigation.

// screenshotsEnv names a folder for a screenshot of each page.
const screenshotsEnv = "UNWATCH_SCREENSHOTS"

// tab is a page in a browser.
type tab struct {
	*testing.T
	ctx context.Context
}

// browser starts a browser for the duration of the test.
func browser(t *testing.T) tab {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(servers.Chromium(t)), chromedp.UserDataDir(t.TempDir())}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // root cannot use the sandbox
	}
	limited, stop := context.WithTimeout(context.Background(), 3*time.Minute) // the test's own ctx ends before its cleanups
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(limited, chromedp.WithAllocatorOptions(options...))
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx))
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // waits for its end, so that its folder is no longer in use
	return tab{t, ctx}
}

func (b tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.ctx, actions...))
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](b tab, expression string) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b, err, expression)
	return value
}

// look opens a page in a window of that width and color scheme, and returns the browser's complaints until
// the end of check.
func (b tab) look(url string, width int64, scheme string, check func()) (complaints []string) {
	b.Helper()
	messages := chromedp.Console(b.ctx)
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(b, err)
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(url))
	check()
	const end = "that was all"
	evaluate[any](b, `console.log("`+end+`")`)
	for message, err := range messages {
		require.NoError(b, err)
		if message.Text == end {
			break
		}
		complaints = append(complaints, message.Text)
	}
	return complaints
}

// sticksOut lists elements that extend beyond the window, except in scrolling boxes.
const sticksOut = `[...document.querySelectorAll("body *")].filter(e => {
	const apart = e.parentElement.closest(".scroll") || e.closest("svg svg, .sr, .skip");
	return !apart && e.getBoundingClientRect().right > innerWidth + 0.5;
}).map(e => e.tagName + "." + e.getAttribute("class") + ": " + e.textContent.slice(0, 40))`

// unfold opens all details elements.
const unfold = `document.querySelectorAll("details").forEach(d => d.open = true)`

func TestLongPageFits(t *testing.T) {
	t.Parallel()
	long.Only(t)
	b := browser(t)
	for name, r := range map[string]*report.Report{
		"ready": reporttest.Ready(), "not-ready": reporttest.NotReady(), "thin": reporttest.Thin(),
		"empty": reporttest.Empty(), "fleet": reporttest.Fleet(),
	} {
		b.fits(name, func(w io.Writer) error { return r.WriteHTML(w, report.Policy{}) })
	}
}

// The page of a cut-over, from the golden files of its status.
func TestLongCutoverPageFits(t *testing.T) {
	t.Parallel()
	long.Only(t)
	b := browser(t)
	files, err := filepath.Glob("../internal/cutoverstatus/testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var s cutoverstatus.Status
		require.NoError(t, json.Unmarshal(text, &s))
		b.fits("cutover-"+strings.TrimSuffix(filepath.Base(file), ".json"), s.WriteHTML)
		if s.Keys != nil && len(s.Keys.Moving) > 0 {
			wide := strings.Repeat("wide", 100)
			s.Name, s.Keys.Moving[0], s.Processes[0].Name, s.Gates[0].Do, s.NotYet[0], s.Error = wide, wide, wide, wide, wide, wide
			b.fits("cutover-wide", s.WriteHTML)
		}
	}
}

// fits looks at a page on a desk and on a phone, in both colour schemes.
func (b tab) fits(name string, write func(io.Writer) error) {
	b.Helper()
	file := filepath.Join(b.TempDir(), name+".html")
	out, err := os.Create(file)
	require.NoError(b, err)
	require.NoError(b, write(out))
	require.NoError(b, out.Close())
	grounds := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{400, 1400} {
			what := name + "-" + scheme + "-" + strconv.FormatInt(width, 10)
			complaints := b.look("file://"+file, width, scheme, func() {
				b.screenshot(what)
				evaluate[any](b, unfold)
				assert.LessOrEqual(b, evaluate[int64](b, "document.documentElement.scrollWidth"), width, what)
				assert.Empty(b, evaluate[[]string](b, sticksOut), what)
				grounds[scheme] = evaluate[string](b, "getComputedStyle(document.body).backgroundColor")
			})
			assert.Empty(b, complaints, what)
		}
	}
	assert.NotEqual(b, grounds["light"], grounds["dark"], name)
}

func (b tab) screenshot(name string) {
	b.Helper()
	if folder := os.Getenv(screenshotsEnv); folder != "" {
		image, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		require.NoError(b, err)
		require.NoError(b, os.WriteFile(filepath.Join(folder, name+".png"), image, 0o600))
	}
}

// Elements that need keyboard focus; those that have it without a visible mark; and those that never had
// it.
const (
	targets = `document.querySelectorAll("a[href], summary, .scroll").length`
	unseen  = `(() => {
		const e = document.activeElement, style = getComputedStyle(e);
		if (e === document.body) return "";
		e.dataset.reached = "yes";
		return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 ? "" : e.outerHTML.slice(0, 80);
	})()`
	missed = `[...document.querySelectorAll("a[href], summary, .scroll")]
		.filter(e => !e.dataset.reached).map(e => e.outerHTML.slice(0, 80))`
)

// The page is served over HTTP, with the links and the policy header.
func TestLongPageByKeyboard(t *testing.T) {
	long.Only(t)
	b := browser(t)
	mux := http.NewServeMux()
	mux.Handle("/debug/shadow/", report.Handler(func(context.Context) (*report.Report, error) {
		return reporttest.NotReady(), nil
	}, report.Policy{}))
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, scheme := range []string{"light", "dark"} {
		complaints := b.look(server.URL+"/debug/shadow/", 400, scheme, func() {
			evaluate[any](b, unfold)
			n := evaluate[int](b, targets)
			assert.Greater(t, n, 30)
			for range n + 5 {
				b.do(chromedp.KeyEvent(kb.Tab))
				assert.Empty(t, evaluate[string](b, unseen), "has the focus, and does not show it")
			}
			assert.Empty(t, evaluate[[]string](b, missed), "cannot be reached")
		})
		assert.Empty(t, complaints)
	}
	// The first Tab skips all links.
	b.do(chromedp.Navigate(server.URL+"/debug/shadow/"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	assert.Equal(t, "verdict", evaluate[string](b, "document.activeElement.id"))
}

// Negative control: these tests detect complaints and invisible focus.
func TestLongPageNegativeControl(t *testing.T) {
	long.Only(t)
	b := browser(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src data:")
		_, _ = w.Write([]byte(`<!DOCTYPE html><link rel="icon" href="data:,"/>
			<style>p { color: red }</style><table width="900"><tr><td>wide</td></tr></table><a href="#">link</a>`))
	}))
	defer server.Close()
	complaints := b.look(server.URL, 400, "light", func() {
		assert.Greater(t, evaluate[int64](b, "document.documentElement.scrollWidth"), int64(400))
		assert.NotEmpty(t, evaluate[[]string](b, sticksOut))
		assert.NotEmpty(t, evaluate[[]string](b, missed))
	})
	assert.Len(t, complaints, 1, "the style is not permitted")
}
