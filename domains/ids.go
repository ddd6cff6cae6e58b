package domains

import (
	"fmt"
	"unicode/utf8"

	"github.com/unwatch/unwatch/rmw"
)

// MaxID is the longest permitted id of anything, in bytes.
const MaxID = 128

// CheckID reports, as an [rmw.ErrInvalid], what makes id unusable as that of what.
func CheckID(what, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the id of the %s is empty", rmw.ErrInvalid, what)
	case len(id) > MaxID:
		return fmt.Errorf("%w: the id of the %s has %d bytes, at most %d are permitted", rmw.ErrInvalid, what, len(id), MaxID)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: the id of the %s is not UTF-8: JSON cannot hold it", rmw.ErrInvalid, what)
	}
	return nil
}

// CheckText is CheckID for texts, which may be empty and have up to limit bytes.
func CheckText(what, text string, limit int) error {
	switch {
	case len(text) > limit:
		return fmt.Errorf("%w: the %s has %d bytes, at most %d are permitted", rmw.ErrInvalid, what, len(text), limit)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: the %s is not UTF-8: JSON cannot hold it", rmw.ErrInvalid, what)
	}
	return nil
}

// CheckIDs is CheckID for several that may be empty, by what they are of.
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
