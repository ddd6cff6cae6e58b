package rediscalls

import (
	"strings"
	"sync"
	"unicode"

	"github.com/unwatch/unwatch/proxycompat"
)

// commandOf returns the command that a method of a typed client sends, as such clients
// name them: GetSet is GETSET, ClusterInfo is CLUSTER INFO, ZAddNX is ZADD with an
// option. It is the longest command that the method's name begins with, at the end of a
// word. If there is none, ok is false.
func commandOf(method string) (command string, ok bool) {
	if command, ok := odd[method]; ok {
		return command, true
	}
	names := squeezed()
	for end := len(method); end > 0; end = wordBefore(method, end) {
		if command, ok := names[strings.ToUpper(method[:end])]; ok {
			return command, true
		}
	}
	return "", false
}

// wordBefore returns where the last word of name[:end] begins: at a capital letter.
func wordBefore(name string, end int) int {
	return max(0, strings.LastIndexFunc(name[:end], unicode.IsUpper))
}

// odd lists the methods that are not named after their command.
var odd = map[string]string{
	"ClusterAddSlotsRange": "CLUSTER ADDSLOTS",
	"ClusterDelSlotsRange": "CLUSTER DELSLOTS",
	"FT_List":              "FT._LIST",
	"GeoRadius":            "GEORADIUS_RO", // GeoRadiusStore writes
	"GeoRadiusByMember":    "GEORADIUSBYMEMBER_RO",
	"Latency":              "LATENCY LATEST",
	"SetNX":                "SET", // with an option
	"TSQueryLabelValues":   "TS.QUERYLABELS",
	"VClearAttributes":     "VSETATTR",
}

// squeezed maps the names of commands, without blanks and other signs, to the commands.
var squeezed = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	signs := strings.NewReplacer(" ", "", "-", "", "_", "", ".", "")
	for _, c := range proxycompat.Commands() {
		names[signs.Replace(c.Name)] = c.Name
	}
	return names
})
