// Package rmwtest keeps its rule.
package rmwtest

import _ "github.com/unwatch/unwatch/rmw"
