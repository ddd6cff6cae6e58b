package shadow

import (
	"crypto/rand"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// processName is how this process, and no other Store in it, is called in a report of
// many.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%.40s:%d:%s", strings.ReplaceAll(host, " ", "-"), os.Getpid(), strings.ToLower(rand.Text()[:4]))
}

// buildName is the revision that the program was built from, "" if it does not know.
func buildName() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+"
			}
		}
	}
	return revision + modified
}
