// Package all lists the analyzers.
package all

import (
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisclient"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediskeys"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisnotify"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redispubsub"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisscripts"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redistx"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisunknown"
)

// Analyzers returns all that report something.
func Analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		redistx.Analyzer, redispubsub.Analyzer, redisunknown.Analyzer, rediskeys.Analyzer, redisclient.Analyzer,
		redisnotify.Analyzer, redisscripts.Analyzer, profile.Analyzer,
	}
}
