package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	setsExpiry = regexp.MustCompile(`'(PX|EX|P?EXPIRE(AT)?|P?SETEX|RESTORE)'`)
	anyCall    = regexp.MustCompile(`redis\.p?call\(`)
)

// checkScripts reports scripts that set an expiry before they call redis.replicate_commands. Redis before 5
// writes such a script itself to its log and to replicas, and a restart then starts the expiry anew.
func checkScripts(root string) (findings []string, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && ignored(d.Name()):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".lua":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		first := anyCall.FindIndex(text)
		if !setsExpiry.Match(text) || first == nil {
			return nil
		}
		if !strings.Contains(string(text[:first[0]]), "redis.replicate_commands()") {
			findings = append(findings, fmt.Sprintf("%s: sets an expiry, and must call redis.replicate_commands before its first command", name))
		}
		return nil
	})
	return findings, err
}
