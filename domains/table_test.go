package domains_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains"
)

// lamp is a table with a row of each form.
func lamp() domains.Table {
	return domains.Table{Entity: "lamp", Rows: []domains.Transition{
		{Op: "Make", To: "off"},
		{Op: "Buy", To: "off", When: "in a shop"},
		{Op: "Press", From: []string{"off"}, To: "on"},
		{Op: "Press", From: []string{"on"}, To: "off"},
		{Op: "Clean", From: []string{"off", "on"}},
		{Op: "Drop", From: []string{"off", "on"}, When: "on a carpet"},
		{Op: "Drop", From: []string{"off", "on"}, To: "broken", When: "anywhere else"},
		{Op: "Hit", From: []string{"on"}, To: "broken"},
		{Op: "Hold", From: []string{"on"}, To: "on"},
	}}
}

func TestTableNext(t *testing.T) {
	for _, test := range []struct {
		op, from, want string
		to             string
		ok             bool
	}{
		{"Press", "off", "", "on", true},
		{"Press", "on", "", "off", true},
		{"Press", "on", "on", "on", false},
		{"Press", "broken", "", "broken", false},
		{"Clean", "on", "", "on", true},
		{"Clean", "on", "on", "on", true},
		{"Clean", "on", "off", "on", false},
		{"Drop", "on", "", "on", true},
		{"Drop", "on", "broken", "broken", true},
		{"Drop", "off", "off", "off", true},
		{"Drop", "off", "on", "off", false},
		{"Drop", "broken", "broken", "broken", false},
		{"Hold", "on", "on", "on", true},
		{"Make", "", "", "", false},
		{"Make", "off", "off", "off", false},
		{"Fly", "on", "", "on", false},
	} {
		to, ok := lamp().Next(test.op, test.from, test.want)
		assert.Equal(t, test.to, to, "%+v", test)
		assert.Equal(t, test.ok, ok, "%+v", test)
	}
}

func TestTableCreates(t *testing.T) {
	assert.True(t, lamp().Creates("Make", "off"))
	assert.True(t, lamp().Creates("Buy", "off"))
	assert.False(t, lamp().Creates("Make", "on"))
	assert.False(t, lamp().Creates("Press", "on"))
	assert.False(t, lamp().Creates("Fly", "off"))
}

func TestTableStates(t *testing.T) {
	assert.Equal(t, []string{"off", "on", "broken"}, lamp().States())
	assert.Empty(t, domains.Table{}.States())
}

// A clone shares nothing with the table.
func TestTableClone(t *testing.T) {
	original := lamp()
	clone := original.Clone()
	assert.Equal(t, original, clone)
	clone.Rows[2].From[0], clone.Rows[3].To = "x", "y"
	assert.Equal(t, lamp(), original)
}

func TestTableText(t *testing.T) {
	assert.Equal(t, `operation  from     to      when
Make       –        off
Buy        –        off     in a shop
Press      off      on
Press      on       off
Clean      off, on  same
Drop       off, on  same    on a carpet
Drop       off, on  broken  anywhere else
Hit        on       broken
Hold       on       on
`, lamp().Text())
}
