package profilefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// Open returns a profile by its name, as [proxycompat.Lookup] does ("codis", "codis@3.2"), or from a file,
// if the argument is a path by [IsPath]. Use it for the value of a -profile flag.
func Open(nameOrPath string) (*proxycompat.Profile, error) {
	if IsPath(nameOrPath) {
		return Load(nameOrPath)
	}
	return proxycompat.Lookup(nameOrPath)
}

// IsPath reports whether [Open] treats the argument as a path: it has a separator, or an extension as in
// rooms.yaml. The ".2" of codis@3.2 is not an extension.
func IsPath(nameOrPath string) bool {
	return strings.ContainsRune(nameOrPath, filepath.Separator) || filepath.Ext(nameOrPath) != "" && !strings.Contains(nameOrPath, "@")
}

// Load reads a profile from a file, which has to name its base. Its errors are those of [Extend].
func Load(path string) (*proxycompat.Profile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("profilefile: %w", err)
	}
	return Extend(nil, path, data)
}
