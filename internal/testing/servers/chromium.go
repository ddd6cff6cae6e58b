package servers

import "cmp"

// Chromium returns the path of a Chromium or Chrome, or skips the test like a missing server does. It does
// not start the browser.
func Chromium(t TB) string {
	t.Helper()
	path, err := findChromium(systemDirs())
	missing(t, err, "in a browser")
	return path
}

// findChromium tries the names that distributions use.
func findChromium(dirs []string) (string, error) {
	var first error
	for _, program := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		path, err := find(program, dirs)
		if err == nil {
			return path, nil
		}
		first = cmp.Or(first, err)
	}
	return "", first
}
