package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReadLimitsTheSize(t *testing.T) {
	const most = 1 << 20
	text := `{"schema": 1}`
	_, err := read(strings.NewReader(text+strings.Repeat(" ", most-len(text))), most)
	assert.NoError(t, err)
	_, err = read(strings.NewReader(text+strings.Repeat(" ", most-len(text)+1)), most)
	assert.EqualError(t, err, "report: the file is longer than 1 MB: this is no report")
}
