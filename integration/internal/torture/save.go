package torture

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// save writes the history of a failure, porcupine's visualization of keys that are not linearizable, and the logs of
// the servers to a new folder, and returns it.
func (r *Result) save(dir string, env *Environment) (folder string, err error) {
	what := ""
	if r.Bank {
		what = bankKind + " "
	}
	name := strings.ReplaceAll(strings.Trim(r.Topology+" "+what+r.Nemesis+" "+r.Mitigation, " "), " ", "-")
	folder = filepath.Join(cmp.Or(dir, os.TempDir()), fmt.Sprintf("unwatch-torture-%s-%d", name, r.Seed))
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return "", err
	}
	return folder, errors.Join(r.write(filepath.Join(folder, "history.txt")), r.visualize(folder), env.saveLogs(folder))
}

// visualize draws a few of the keys that are not linearizable.
func (r *Result) visualize(folder string) error {
	byKey := r.History.byKey()
	for i, key := range r.NotLinearizable {
		if len(byKey[key]) == 0 {
			continue // of the bank
		}
		if i == 3 {
			break // one picture is enough to read
		}
		_, info := linearizable(byKey[key], r.stored.list(key), r.Took)
		picture := filepath.Join(folder, fmt.Sprintf("key-%d.html", i))
		if err := porcupine.VisualizePath(model(), info, picture); err != nil {
			return err
		}
	}
	return nil
}

// saveLogs copies the logs of all servers, from their start.
func (s *Environment) saveLogs(folder string) error {
	return filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.dir, path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, string(filepath.Separator), "-")), text, 0o600)
	})
}

// drop releases the data that only save needs: a run of an hour collects gigabytes.
func (r *Result) drop() { r.History, r.stored, r.external = nil, nil, nil }

// write writes all data of the cell as text.
func (r *Result) write(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	defer func() { err = errors.Join(err, w.Flush()) }()
	out := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) } // w keeps the error
	began := time.Now().Add(-r.History.now()).Format(time.StampMilli)
	out("%s/%s, seed %d, %v, began at %s; times are milliseconds since then", r.Topology, r.Nemesis, r.Seed, r.Took, began)
	for _, example := range r.examples {
		out("  %s", example)
	}
	for _, problem := range slices.Concat(r.Desk, r.Errors, r.Immortal) {
		out("  %s", problem)
	}
	if r.Leaked != "" {
		out("  left goroutines:\n%s", r.Leaked)
	}
	out("\nnemesis")
	for _, n := range r.History.notes {
		out("%12.3f  %s", ms(n.At), n.Text)
	}
	r.writeJoints(out)
	byKey := r.History.byKey()
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		out("\nkey %s", key)
		for _, op := range byKey[key] {
			out("%12.3f %12.3f  process %2d  %-8s %v after %d  %s",
				ms(op.Call), ms(op.Return), op.Process, op.ID, op.Outcome, len(op.Seen), op.Err)
		}
		if r.stored != nil {
			out("  in the end: %s %v", r.stored.text[key], r.stored.hash[key])
		}
	}
	return nil
}
