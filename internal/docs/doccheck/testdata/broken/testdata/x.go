package x

// snippet:x
const X = 1

// endsnippet
