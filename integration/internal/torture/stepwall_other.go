//go:build !linux || !amd64

package torture

var stepWall func(seconds int64) // nil: no clock steps
