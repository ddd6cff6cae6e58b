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
