package report

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The guide has exactly one row for each field of a Policy, in order, with its JSON name and default.
func TestGuideListsThePolicy(t *testing.T) {
	text, err := os.ReadFile("../../docs/shadow.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| `Policy` | as JSON | default |")
	require.True(t, found, "docs/shadow.md has no table of the Policy")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:] // after the head
	policy := reflect.ValueOf(Policy{}.withDefaults())
	require.Len(t, rows, policy.NumField())
	for i, row := range rows {
		field := policy.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value := fmt.Sprint(policy.Field(i).Interface())
		if policy.Field(i).Kind() == reflect.Slice {
			value = "none"
		}
		assert.True(t, strings.HasPrefix(row, fmt.Sprintf("| `%s` | `%s` | %s | ", field.Name, name, value)), "%s: %s", field.Name, row)
	}
}
