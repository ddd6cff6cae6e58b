//go:build !unix

package wholefile

import "os"

// keepOwner does nothing where files have no owner in this sense.
func keepOwner(*os.File, os.FileInfo) {}
