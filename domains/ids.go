package domains

import (
	"fmt"
	"unicode/utf8"

	"github.com/unwatch/unwatch/rmw"
)

// maxID is the limit of CheckID.
const maxID = 128

// CheckID returns an [rmw.ErrInvalid] if id, of an entity, member, group and so on, is empty, longer than 128
// bytes or not UTF-8. The error names what, such as "agent".
func CheckID(what, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the id of the %s is empty", rmw.ErrInvalid, what)
	case len(id) > maxID:
		return fmt.Errorf("%w: the id of the %s has %d bytes, at most %d are permitted", rmw.ErrInvalid, what, len(id), maxID)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: the id of the %s is not UTF-8: JSON cannot hold it", rmw.ErrInvalid, what)
	}
	return nil
}

// CheckText returns an [rmw.ErrInvalid] if text has more than limit bytes or is not UTF-8. The error names
// what.
func CheckText(what, text string, limit int) error {
	switch {
	case len(text) > limit:
		return fmt.Errorf("%w: the %s has %d bytes, at most %d are permitted", rmw.ErrInvalid, what, len(text), limit)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: the %s is not UTF-8: JSON cannot hold it", rmw.ErrInvalid, what)
	}
	return nil
}

// CheckIDs applies [CheckID] to every id that is not empty. The map's keys name the ids in errors.
func CheckIDs(ids map[string]string) error {
	for what, id := range ids {
		if id == "" {
			continue
		}
		if err := CheckID(what, id); err != nil {
			return err
		}
	}
	return nil
}
