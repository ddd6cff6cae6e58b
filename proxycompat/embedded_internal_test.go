package proxycompat

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Both formats describe the same profiles: every rule of every command, and every text of a refusal.
func TestJSONEqualsTable(t *testing.T) {
	for _, name := range Names() {
		table, err := os.ReadFile("profiles/" + name + ".tsv")
		require.NoError(t, err)
		want, err := parse(name+".tsv", string(table))
		require.NoError(t, err)
		data, err := os.ReadFile("profiles/" + name + ".json")
		require.NoError(t, err)
		got, err := decodeEmbedded(data)
		require.NoError(t, err)
		assert.Equal(t, want, got)

		commands := []string{"NOSUCH", "nosuch sub"}
		for command := range commandTable() {
			commands = append(commands, command)
		}
		for command := range want.rows {
			commands = append(commands, command)
		}
		for _, version := range []string{"", "3.2", "6.2", "7.2", "8.0"} {
			was, is := want, got
			if version != "" {
				was, err = want.Over(version)
				require.NoError(t, err)
				is, err = got.Over(version)
				require.NoError(t, err)
			}
			assert.Equal(t, was, is, version)
			assert.Equal(t, was.Rules(), is.Rules())
			for _, command := range commands {
				assert.Equal(t, was.Rule(command), is.Rule(command), command)
				assert.Equal(t, was.RefusalText(command), is.RefusalText(command), command)
			}
		}
	}
}
