// Package tagged watches in one of its builds only.
package tagged
