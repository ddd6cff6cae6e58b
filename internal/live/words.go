package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// grouped is a number with a comma after every three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for at := len(digits) - 3; at > from; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}

// duration is a time as people say it: "10 min", "1 h 30 min", "45 s".
func duration(d time.Duration) string {
	d = d.Round(time.Second)
	var text strings.Builder
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / unit.of; n > 0 {
			text.WriteString(fmt.Sprintf("%d %s ", n, unit.name))
			d -= n * unit.of
		}
	}
	if text.String() == "" {
		return "less than 1 s"
	}
	return text.String()[:len(text.String())-1]
}
