package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Static counts the findings of migrate-check in code, by rule.
type Static map[string]int

// ReadStatic reads JSON objects. Those with a "rule" are findings.
func ReadStatic(r io.Reader) (Static, error) {
	static := Static{}
	objects := 0
	for decoder := json.NewDecoder(r); ; objects++ {
		var one struct {
			Rule string `json:"rule"`
		}
		err := decoder.Decode(&one)
		switch {
		case errors.Is(err, io.EOF) && objects > 0:
			return static, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("this file is empty")
		case err != nil:
			return nil, fmt.Errorf("object %d: %w", objects+1, err)
		case one.Rule != "":
			static[one.Rule]++
		}
	}
}

// inCode returns the rules for code that find the commands of a rule for servers.
func inCode(rule string) []string {
	switch rule {
	case "MC101":
		return []string{"MC101", "MC103"}
	case "MC103": // clients send MULTI and EXEC for a Watch, and for a pipeline
		return []string{"MC101", "MC102", "MC103"}
	case "MC202":
		return []string{"MC202", "MC504"}
	case "MC302", "MC401", "MC404", "MC701": // MC901 finds them by name
		return []string{rule, "MC901"}
	}
	return []string{rule}
}

// Join sets Finding.InCode. Commands of a finding without a place in that code come from another
// code base.
func (r *Report) Join(static Static) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.Counts() {
			continue
		}
		places := 0
		for _, rule := range inCode(f.Rule) {
			places += static[rule]
		}
		f.InCode = &places
		if places == 0 {
			f.Remark = "nothing in the code that was checked sends it: another code base does"
		}
	}
}
