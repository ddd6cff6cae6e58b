package torture

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/results/torture.md and load.md show runs with exactly the cells that exist, and the commands of
// docs/guarantees.md select some.
func TestGuarantees(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../../docs/" + name)
		require.NoError(t, err)
		return string(text)
	}
	doc := read("guarantees.md") + read("results/torture.md") + read("results/load.md")
	shown := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^ *([\w>-]+) +([\w-]+)( +\d+){5} +[\d.]+s (\w+)$`).FindAllStringSubmatch(doc, -1) {
		shown[row[1]], shown[row[2]] = true, true
		assert.NotEmpty(t, plan(row[1]+"/"+row[2]), "%s at %s", row[2], row[1])
		assert.Contains(t, []string{"ok", "Redis"}, row[4], row[0])
	}
	for _, topology := range Topologies() {
		assert.True(t, shown[topology.Name], "%s is not in the table", topology.Name)
	}
	for _, n := range Nemeses() {
		assert.True(t, shown[n.Name], "%s is not in the table", n.Name)
	}
	for _, c := range Controls() {
		row := regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(c.Name) + ` +` + c.Topology + `/` + c.Nemesis + ` .* caught `)
		assert.True(t, row.MatchString(doc), "%s is not in the table", c.Name)
	}
	for _, i := range Isolations() {
		row := regexp.MustCompile(`(?m)^ *plain +` + i.Topology.Name + `/` + i.Fault + ` `)
		assert.True(t, row.MatchString(doc), "%s/%s is not in the table", i.Topology.Name, i.Fault)
	}
	for _, r := range Mitigations() {
		for _, place := range r.Where {
			row := regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(r.Name) + ` +` + place.Topology + `/` + place.Nemesis + ` `)
			assert.True(t, row.MatchString(doc), "%s at %s/%s is not in the table", r.Name, place.Topology, place.Nemesis)
		}
	}
	for _, only := range regexp.MustCompile("ONLY=('[^']+'|[^` ]+)").FindAllStringSubmatch(doc, -1) {
		assert.NotEmpty(t, plan(strings.Trim(only[1], `'`)), only[0])
	}
}
