// Package scripttexts has scripts for other packages.
package scripttexts

const Take = `return redis.call("GET", KEYS[1])`

var Given = `return redis.call("GET", KEYS[1])`
