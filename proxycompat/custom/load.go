package custom

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// MaxSize is how many bytes a file may have. A rule for every command of Redis
// needs a tenth of it.
const MaxSize = 1 << 20

// Open returns the profile of a name, as [proxycompat.Lookup] takes it: "codis", "codis@3.2"; or of
// the file at this path: see [IsPath]. Use it for the value of a -profile flag.
func Open(nameOrPath string) (*proxycompat.Profile, error) {
	if IsPath(nameOrPath) {
		return Load(nameOrPath)
	}
	return proxycompat.Lookup(nameOrPath)
}

// IsPath reports whether [Open] takes this for a path: it has a separator, or an extension
// as in rooms.yaml. The ".2" of codis@3.2 is none.
func IsPath(nameOrPath string) bool {
	return strings.ContainsRune(nameOrPath, filepath.Separator) || filepath.Ext(nameOrPath) != "" && !strings.Contains(nameOrPath, "@")
}

// Load reads a profile from a file, which has to name its base. The error has
// everything that is wrong with the file: see [Extend].
func Load(path string) (*proxycompat.Profile, error) {
	data, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("custom: %w", err)
	}
	return Extend(nil, path, data)
}

func read(path string) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// One byte more, so that Extend sees what is too large.
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}
