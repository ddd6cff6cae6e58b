package rules

import (
	"fmt"
	"strings"
)

// transactions is the preset of the rules about WATCH, MULTI and EXEC, and the prefix of their names.
const transactions, ofTransactions = "tx", "MC1"

// Parse reads a choice of rules, as tx,MC402,-MC403: the last word that fits a rule decides.
func Parse(choice string) (func(id string) bool, error) {
	chosen := map[string]bool{}
	words := strings.Split(choice, ",")
	if strings.HasPrefix(words[0], "-") {
		words = append([]string{"default"}, words...)
	}
	for _, word := range words {
		word = strings.TrimSpace(word)
		name, without := strings.CutPrefix(word, "-")
		if name == transactions {
			name = ofTransactions
		}
		fits := 0
		for _, r := range All() {
			begins := name != "" && strings.HasPrefix(r.ID, strings.ToUpper(name))
			if begins || name == r.Name || name == "all" || name == "default" && !r.Off {
				chosen[r.ID] = !without
				fits++
			}
		}
		if fits == 0 {
			return nil, fmt.Errorf("there is no rule %q; migrate-check explain lists them", word)
		}
	}
	return func(id string) bool { return chosen[id] }, nil
}

// ID is the rule of a diagnostic's category, which may have a severity, too: "MC402/error".
func ID(category string) string {
	id, _, _ := strings.Cut(category, "/")
	return id
}
