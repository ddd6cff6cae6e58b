// Package names has constants for other packages.
package names

const Watch = "WATCH"
