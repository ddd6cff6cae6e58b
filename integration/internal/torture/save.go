package torture

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// saveHistory writes the history of a failure, and porcupine's visualization of each key that is not linearizable,
// and returns the files.
func (r *Result) saveHistory(dir string) (files []string, err error) {
	name := strings.ReplaceAll(strings.Trim(r.Topology+" "+r.Nemesis+" "+r.Mitigation, " "), " ", "-")
	dir = filepath.Join(cmp.Or(dir, os.TempDir()), fmt.Sprintf("unwatch-torture-%s-%d", name, r.Seed))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	history := filepath.Join(dir, "history.txt")
	if err := r.write(history); err != nil {
		return nil, err
	}
	files = append(files, history)
	byKey := r.History.byKey()
	for i, key := range r.NotLinearizable {
		if i == 3 {
			break // one picture is enough to read
		}
		_, info := linearizable(byKey[key], r.stored.list(key), r.Took)
		picture := filepath.Join(dir, fmt.Sprintf("key-%d.html", i))
		if err := porcupine.VisualizePath(model(), info, picture); err != nil {
			return files, err
		}
		files = append(files, picture)
	}
	return files, nil
}

// drop releases the data that only saveHistory needs: a run of an hour collects gigabytes.
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
	out("%s/%s, seed %d, %v", r.Topology, r.Nemesis, r.Seed, r.Took)
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
