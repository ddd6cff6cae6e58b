package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediskeys"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redistx"
)

// settings tells the analyzers what was asked for. Rules are those that are wanted.
func (c *checkFlags) settings(rules func(id string) bool) error {
	name := c.profile
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
		set(rediskeys.Analyzer, rediskeys.SplitFlag, strconv.FormatBool(rules != nil && rules("MC403"))),
		set(redistx.Analyzer, "store", c.store),
	)
}

func set(a *analysis.Analyzer, flag, value string) error {
	if err := a.Flags.Set(flag, value); err != nil {
		return fmt.Errorf("-%s: %w", flag, err)
	}
	return nil
}
