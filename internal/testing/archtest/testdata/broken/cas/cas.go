// Package cas breaks its rule in two ways.
package cas

import (
	_ "C"

	_ "github.com/redis/go-redis/v9/maintnotifications"
	_ "github.com/unwatch/unwatch/lockupdate"
	_ "github.com/unwatch/unwatch/rmw"
)
