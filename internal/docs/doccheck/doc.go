// Package doccheck tests the documents: their Go code compiles, their commands are executed somewhere, and
// their links exist.
//
// In the documents (README.md, README.zh-CN.md, ARCHITECTURE.md, CONTRIBUTING.md, CHANGELOG.md and
// docs/*.md, docs/results/*.md):
//
//   - A block of Go is a copy of real code. The comment
//     <!-- snippet: path/to/file.go#name --> stands before the block, and the
//     file holds the same lines between "// snippet:name" and "// endsnippet".
//     Indentation that all the lines share does not count. A diff names the
//     snippet that it removes, and the one that it adds.
//   - A block of shell, marked sh, holds only commands that are executed somewhere: a
//     target of the Makefile, go run and go install of packages that exist, go
//     test, go vet, go get of this module, or any line of the file that the
//     comment <!-- executed-by: path/to/script --> before the block names.
//   - A relative link leads to a file that exists, and its fragment to a
//     heading.
//   - README.zh-CN.md has the headings, level by level, and the code blocks of
//     README.md.
package doccheck
