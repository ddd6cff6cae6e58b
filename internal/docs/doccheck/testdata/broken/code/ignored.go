//go:build ignore

package code

// snippet:x
const X = 1

// endsnippet
