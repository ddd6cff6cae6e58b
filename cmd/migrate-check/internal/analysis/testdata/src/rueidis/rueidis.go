// Package rueidis is legacy code over rueidis.
package rueidis

import "github.com/redis/rueidis"

func all(c rueidis.Client, lua *rueidis.Lua) {
	_ = c.B().Watch().Key("k").Build()  // want `WATCH through .*Builder\)\.Watch.*MC101`
	_ = c.B().Multi().Build()           // want `MULTI.*MC103`
	_ = c.B().Arbitrary("EXEC").Build() // want `EXEC.*MC103`
	_ = c.B().Arbitrary("GET").Keys("WATCH")
	lua.Exec(nil, c, nil, nil)
}
