package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// RequireEnv is an environment variable. If it is 1, a missing server program fails the test instead of
// skipping it.
const RequireEnv = "UNWATCH_REQUIRE_SERVERS"

// Install is the command that installs the programs on Debian and Ubuntu.
const Install = "apt-get install redis-server nutcracker etcd-server zookeeper postgresql mariadb-server prometheus chromium"

// ErrMissing means that the program is not installed.
var ErrMissing = errors.New("not installed")

// systemDirs returns folders of system programs that are not in the PATH of every user: Debian puts
// nutcracker in /usr/sbin.
func systemDirs() []string {
	return append([]string{"/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"}, postgresDirs()...)
}

// find searches PATH and then dirs.
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

// Required reports whether a missing server or other requirement must fail the test instead of skipping it.
func Required() bool {
	return os.Getenv("CI") == "true" || os.Getenv(RequireEnv) == "1"
}
