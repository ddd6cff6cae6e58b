package all

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
)

// Settings are the settings of all analyzers.
type Settings struct {
	Profile string // the profile of the proxy: a name, or the path of a file; "": codis
	Split   bool   // look for commands that the proxy splits, too (MC403)
}

// Apply sets the flags of the analyzers. They are global: call Apply once, before the analysis.
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
		profile.Analyzer.Flags.Set(profile.Flag, name),
		analyzers.Named(analyzers.Keys).Flags.Set(analyzers.SplitFlag, strconv.FormatBool(s.Split)),
	)
}
