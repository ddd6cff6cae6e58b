// Proxydoc writes docs/proxies.md and docs/proxies/*.md from the profiles of package proxycompat. A test
// compares them with the code.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: proxydoc DOCS, the folder to write to")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "proxydoc:", err)
		os.Exit(1)
	}
}

func write(docs string) error {
	profiles, err := embedded()
	if err != nil {
		return err
	}
	pages, err := render(profiles)
	if err != nil {
		return err
	}
	for _, p := range pages {
		name := filepath.Join(docs, filepath.FromSlash(p.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(p.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
