package all

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
)

// Settings are those of all analyzers.
type Settings struct {
	Profile string // the proxy to judge by: a name, or the path of a file; "": codis
	Store   string // what a fix calls the store; "": that is not known
	Split   bool   // look for what the proxy splits up, too (MC403)
}

// Apply sets the flags of the analyzers. They are those of the whole program: it is for its
// beginning, not for calls side by side.
func (s Settings) Apply() error {
	name := s.Profile
	if name == "" {
		name = profile.Default
	}
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		abs, err := filepath.Abs(name)
		if err != nil {
			return fmt.Errorf("-profile: %w", err)
		}
		name = abs
	}
	if _, err := profile.Load(name); err != nil {
		return fmt.Errorf("-%w", err)
	}
	return errors.Join(
		set(profile.Analyzer, profile.Flag, name),
		set(analyzers.Named(analyzers.Keys), analyzers.SplitFlag, strconv.FormatBool(s.Split)),
		set(analyzers.Named(analyzers.Transactions), analyzers.StoreFlag, s.Store),
	)
}

func set(a *analysis.Analyzer, flag, value string) error {
	if err := a.Flags.Set(flag, value); err != nil {
		return fmt.Errorf("-%s: %w", flag, err)
	}
	return nil
}
