package seal

import "time"

// Met reads the reply of Look.
func (c *Call) Met() (Met, error) {
	if c.Err != nil {
		return Met{}, c.Err
	}
	return parseLook(c.Reply)
}

// Left returns how long the value that a seal holds has to live, by the reply of Look; negative: it has no expiry.
func (c *Call) Left() time.Duration {
	if list, _ := c.Reply.([]any); len(list) > 4 {
		if ms, ok := list[4].(int64); ok && ms >= 0 {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return -1
}

// Decided reads the reply of Ask.
func (c *Call) Decided() (Decision, error) {
	d, _, err := c.decision()
	return d, err
}
