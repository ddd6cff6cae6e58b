package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Static counts the findings of a check of code, by rule.
type Static map[string]int

// ReadStatic reads a file of JSON objects, of which those with a "rule" are findings.
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

// inCode are the rules that find in code what a rule finds here.
func inCode(rule string) []string {
	switch rule {
	case "MC101":
		return []string{"MC101", "MC103"}
	case "MC103": // clients send MULTI and EXEC for a Watch, and for a pipeline
		return []string{"MC101", "MC102", "MC103"}
	case "MC202":
		return []string{"MC202", "MC504"}
	case "MC302", "MC401", "MC404", "MC701": // by its name, too
		return []string{rule, "MC901"}
	}
	return []string{rule}
}

// Join notes at each finding that counts whether the code that was checked has a place
// that can be it. Where it has none, another code base sends it.
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
