package doccheck

import (
	"fmt"
	"os"
	"strings"
)

// HasLines returns an error unless the page has these lines, each with its newline. A table whose rows are made by
// several modules is tested row by row: each module tests its own.
func HasLines(page, lines string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if !strings.Contains("\n"+string(text), "\n"+lines) {
		return fmt.Errorf("%s has not, or has otherwise:\n%s", page, lines)
	}
	return nil
}
