package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// RequireEnv is the environment variable that, set to 1, turns a missing
// server program from a reason to skip into a failure.
const RequireEnv = "UNWATCH_REQUIRE_SERVERS"

// Install is the command that installs the programs on Debian and Ubuntu.
const Install = "apt-get install redis-server nutcracker etcd-server chromium"

// ErrMissing: the program is not installed.
var ErrMissing = errors.New("not installed")

// systemDirs are the folders of system programs, which are not in the PATH of
// every user: Debian puts nutcracker in /usr/sbin.
func systemDirs() []string {
	return []string{"/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"}
}

// find looks in PATH and then in dirs.
func find(program string, dirs []string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is %w: %s", program, ErrMissing, Install)
}

// Required reports whether a missing server, or whatever else a test cannot do without, must
// fail instead of skip.
func Required() bool {
	return os.Getenv("CI") == "true" || os.Getenv(RequireEnv) == "1"
}
