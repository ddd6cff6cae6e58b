package code

// snippet:changed
const New = 1

// endsnippet

// snippet:twice
// endsnippet

// snippet:twice
// endsnippet

// snippet:open
const Open = 1
