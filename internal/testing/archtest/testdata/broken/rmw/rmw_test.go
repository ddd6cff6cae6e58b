package rmw

import (
	"time"

	_ "github.com/stretchr/testify/require"
)

func sleep() {
	time.Sleep(time.Second)
}
