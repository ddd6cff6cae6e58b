package rmw

import (
	_ "testing/synctest"
	"time"
)

func sleepInABubble() {
	time.Sleep(time.Second)
}
