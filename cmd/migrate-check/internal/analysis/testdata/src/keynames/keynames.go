// Package keynames makes keys for other packages.
package keynames

import (
	"fmt"
	"strconv"
	"strings"
)

const prefix = "app"

var separator = ":"

func User(id string) string { return prefix + separator + "{" + id + "}" } // want User:"makes app:\\{\\+id\\+\\}"

func Friends(id string) string { return User(id) + ":friends" } // want Friends:"makes app:\\{\\+id\\+\\}:friends"

func Room(id int) string { return fmt.Sprintf("%s:room:%d", prefix, id) } // want Room:"makes app:room:\\+id#d"

func Seat(room, seat int) string { return "{room:" + strconv.Itoa(room) + "}:" + strconv.Itoa(seat) } // want Seat:"makes \\{room:\\+room#d\\+\\}:\\+seat#d"

func Path(parts ...string) string { return strings.Join(parts, "/") } // want Path:`makes strings.Join.parts, "/"..../`

func Dynamic(id string) string {
	if id == "" {
		return "none"
	}
	return "{" + id + "}"
}

// Space makes the keys of one tenant.
type Space struct{ Name string }

func (s Space) Key(id string) string { return "{" + s.Name + "}:" + id } // want Key:"makes \\{\\+s\\.Name\\.Name\\+\\}:\\+id"

func (s *Space) Loose(id string) string { return s.Name + ":" + id } // want Loose:"makes s\\.Name\\.Name\\+:\\+id"
