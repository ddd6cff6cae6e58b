package archtest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// programs are the first bytes of executables for Linux, Windows and macOS.
var programs = []string{"\x7fELF", "MZ\x90\x00", "\xcf\xfa\xed\xfe"}

// checkPrograms reports executables: go build leaves one in the folder of a main package, and the next
// commit would include it.
func checkPrograms(root string) (findings []string, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, d.Name()): // as in .gitignore
			return filepath.SkipDir
		case !d.Type().IsRegular(), filepath.Ext(name) == ".test":
			return nil
		}
		in, err := os.Open(name)
		if err != nil {
			return err
		}
		begin := make([]byte, 4)
		_, err = io.ReadFull(in, begin)
		_ = in.Close() // it was only read
		if err != nil {
			return nil // shorter than any executable
		}
		for _, magic := range programs {
			if strings.HasPrefix(string(begin), magic) {
				findings = append(findings, fmt.Sprintf("%s: a built program: delete it, and build with -o elsewhere", name))
			}
		}
		return nil
	})
	return findings, err
}
