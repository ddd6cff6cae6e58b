// Package names makes keys for another package.
package names

// Room is the key of a room.
func Room(id string) string { return "{" + id + "}:room" }

// Seats is the key of its seats.
func Seats(id string) string { return "{" + id + "}:seats" }
