package profilefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// MaxSize limits the size of a file in bytes. A rule for every command of Redis needs a tenth of it.
const MaxSize = 1 << 20

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

// Load reads a profile from a file, which has to name its base. The error joins all problems of the file,
// as that of [Extend].
func Load(path string) (*proxycompat.Profile, error) {
	data, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("profilefile: %w", err)
	}
	return Extend(nil, path, data)
}

func read(path string) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// One more byte lets Extend detect a file that is too large.
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}
