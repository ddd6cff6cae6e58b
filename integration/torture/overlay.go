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

// steppedMain is the program of which one with a clock that can step is built.
const steppedMain = "github.com/unwatch/unwatch/integration/cmd/torture"

// The line of Go's own time.Now that reads both clocks, and what follows it in a program whose
// wall clock steps: the monotonic reading stays what it is, as on a machine whose clock is set.
const (
	readsClocks = "\tsec, nsec, mono := runtimeNow()\n"
	stepsClock  = readsClocks + "\tsec += wallStep.Load()\n"
)

// stepFile is added to the package time. The method is on a type of which everybody has a value,
// so that who wants to call it can ask whether it is there, see [stepper].
const stepFile = `package time

import "sync/atomic"

var wallStep atomic.Int64

// StepWall sets the wall clock forward or back, and not the monotonic one.
func (*Location) StepWall(seconds int64) { wallStep.Add(seconds) }
`

// buildStepped builds this program with a wall clock that can step, which the machine's own
// cannot without harm to others, and returns its path in dir. The package time is the Go tool's
// own, with a line and a file more. The first build of a Go release compiles everything anew.
func buildStepped(ctx context.Context, dir string) (program string, err error) {
	root, err := goTool(ctx, "env", "GOROOT")
	if err != nil {
		return "", err
	}
	folder := filepath.Join(strings.TrimSpace(root), "src", "time")
	text, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		return "", fmt.Errorf("the source of Go's package time: %w", err)
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

// withStep is Go's time.go with a wall clock that can step.
func withStep(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(readsClocks)); n != 1 {
		return nil, fmt.Errorf("time.go of this Go has %q %d times, not once: time.Now has changed, and this has to follow",
			strings.TrimSpace(readsClocks), n)
	}
	now := bytes.Index(source, []byte("\nfunc Now() Time {\n"))
	at := bytes.Index(source, []byte(readsClocks))
	if now < 0 || at < now || bytes.Contains(source[now:at], []byte("\n}\n")) {
		return nil, errors.New("time.go of this Go does not read the clocks in time.Now: it has changed, and this has to follow")
	}
	return bytes.Replace(source, []byte(readsClocks), []byte(stepsClock), 1), nil
}

// goTool runs the go command in the folder of this process, which has to be in the module.
func goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var complaint tail
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, complaint.text)
	}
	return string(out), nil
}
