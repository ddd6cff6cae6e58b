// Package names has the keys that a cut-over uses for itself.
package names

import (
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// Prefix is that of each key of this package.
const Prefix = "~cutover:"

// Document returns the key of the stage document, in either store.
func Document(cutover string) (rmw.Key, error) {
	if cutover == "" || strings.ContainsAny(cutover, "{}") {
		return rmw.Key{}, fmt.Errorf("%w: the name of the cut-over is %.40q; use one that is not empty, without braces", rmw.ErrInvalid, cutover)
	}
	return rmw.Key{Name: Prefix + "{" + cutover + "}", Label: "cutover", TTL: rmw.NoTTL}, nil
}

// Census returns the key of the heartbeats. It has the hash tag of the stage document.
func Census(cutover string) (rmw.Key, error) {
	key, err := Document(cutover)
	key.Name += ":census"
	key.Kind = rmw.KindHash
	return key, err
}
