package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindLooksInSystemFoldersToo(t *testing.T) {
	dir := t.TempDir()
	want := filepath.Join(dir, "nutcracker")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if got, err := find("nutcracker", []string{t.TempDir(), dir}); got != want || err != nil {
		t.Fatalf("found %q, %v", got, err)
	}
	_, err := find("nutcracker", nil)
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), Install) {
		t.Fatalf("the error does not say what to install: %v", err)
	}
}

// A missing program skips the test on a laptop and fails it in CI. Any other error always fails it.
func TestMissingSkipsOrFails(t *testing.T) {
	missing := fmt.Errorf("redis-server is %w", ErrMissing)
	tests := []struct {
		name        string
		ci, require string
		err         error
		want        string
	}{
		{"laptop", "", "", missing, "skip"},
		{"switched off", "false", "0", missing, "skip"},
		{"CI", "true", "", missing, "fatal"},
		{"required", "", "1", missing, "fatal"},
		{"broken", "", "", errExited, "fatal"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("CI", test.ci)
			t.Setenv(RequireEnv, test.require)
			var rec recorder
			use(&rec, func(context.Context) (*Server, error) { return nil, test.err })
			if rec.did != test.want {
				t.Fatalf("did %q, want %q", rec.did, test.want)
			}
			if rec.did == "skip" && !strings.Contains(rec.said, "!!!") {
				t.Fatalf("skipped quietly: %s", rec.said)
			}
		})
	}
}

type recorder struct{ did, said string }

func (r *recorder) Helper()         {}
func (r *recorder) Cleanup(func())  {}
func (r *recorder) TempDir() string { return "" }
func (r *recorder) Skipf(format string, args ...any) {
	r.did, r.said = "skip", fmt.Sprintf(format, args...)
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.did, r.said = "fatal", fmt.Sprintf(format, args...)
}

// Any of the names suffices, and an error names the package to install.
func TestFindChromium(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	_, err := findChromium([]string{dir})
	if !errors.Is(err, ErrMissing) || !strings.HasPrefix(err.Error(), "chromium is ") || !strings.Contains(err.Error(), Install) {
		t.Fatalf("the error does not say what to install: %v", err)
	}
	want := filepath.Join(dir, "google-chrome")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := findChromium([]string{dir}); got != want || err != nil {
		t.Fatalf("found %q, %v", got, err)
	}
}
