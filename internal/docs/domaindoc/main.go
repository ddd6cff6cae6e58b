// Domaindoc writes the generated documents of the domain packages: the transition tables in the packages'
// docs, and docs/domains.md with the diagrams and the costs of the operations. A test compares them with
// the code.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: domaindoc DIR, the root of the module")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "domaindoc:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := render()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(f.name)), []byte(f.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
