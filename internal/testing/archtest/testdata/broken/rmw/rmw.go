// Package rmw breaks its rule.
package rmw

import (
	_ "context"

	_ "github.com/redis/go-redis/v9"
	_ "github.com/unwatch/unwatch/rmw/rmwtest"
)
