package comments

import "github.com/unwatch/unwatch/rmw"

type store = rmw.Store
