package shadow

// latch is a lock that can be asked for, and that is held while waiting for a store. A
// sync.Mutex could be, too, but who waits for one is not seen by testing/synctest.
type latch chan struct{}

func newLatch() latch { return make(latch, 1) }

func (l latch) lock() { l <- struct{}{} }

func (l latch) unlock() { <-l }

// try locks if that takes no waiting.
func (l latch) try() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}
