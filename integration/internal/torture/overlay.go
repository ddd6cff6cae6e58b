package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// steppedMain is the program that is built with a steppable clock.
const steppedMain = "github.com/unwatch/unwatch/integration/cmd/torture"

// readsClocks of Go's time.Now reads both clocks. Its replacement steps the wall clock only, as if the machine's
// clock were set: the monotonic reading does not change.
const (
	readsClocks = "\tsec, nsec, mono := runtimeNow()\n"
	stepsClock  = readsClocks + "\tsec += wallStep.Load()\n"
)

// stepFile is added to package time. Its method is on an exported type, so that a program can test for its
// presence, see [stepper].
const stepFile = `package time

import "sync/atomic"

var wallStep atomic.Int64

// StepWall sets the wall clock forward or back, and not the monotonic one.
func (*Location) StepWall(seconds int64) { wallStep.Add(seconds) }
`

// buildStepped builds this program with a steppable wall clock and returns its path in dir. Stepping the
// machine's own clock would harm other programs. Package time is that of the Go toolchain with one changed
// line and one more file. The first build with a Go release compiles everything.
func buildStepped(ctx context.Context, dir string) (program string, err error) {
	root, err := goTool(ctx, "env", "GOROOT")
	if err != nil {
		return "", err
	}
	folder := filepath.Join(strings.TrimSpace(root), "src", "time")
	text, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		return "", fmt.Errorf("read Go's package time: %w", err)
	}
	if text, err = withStep(text); err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for name, text := range map[string][]byte{"time.go": text, "unwatch_step.go": []byte(stepFile)} {
		file := filepath.Join(dir, name+".txt")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
		replaced[filepath.Join(folder, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "torture-stepped")
	_, err = goTool(ctx, "build", "-overlay", list, "-o", program, steppedMain)
	return program, err
}

// withStep returns Go's time.go with a steppable wall clock. [stepClock] shows whether it steps.
func withStep(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(readsClocks)); n != 1 {
		return nil, fmt.Errorf("time.go of this Go has %q %d times, not once: time.Now has changed; adapt readsClocks",
			strings.TrimSpace(readsClocks), n)
	}
	return bytes.Replace(source, []byte(readsClocks), []byte(stepsClock), 1), nil
}

// goTool runs the go command in the folder of this process, which has to be in the module.
func goTool(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}
