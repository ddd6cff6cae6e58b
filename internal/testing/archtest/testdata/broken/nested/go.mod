module github.com/unwatch/unwatch/nested

go 1.26
