package nested

import _ "golang.org/x/tools/go/packages"

func init() {}
