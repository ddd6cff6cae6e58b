package diff_test

import (
	"fmt"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

func Example() {
	c, err := diff.Compile(diff.Rules{Ignore: []string{"updatedAt"}, Sets: []string{"tags"}, Show: []string{"members[].role"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	legacy := rmw.String(`{"id": 7, "tags": ["a","b"], "members": [{"name":"Ann","role":"owner","rating":0}], "updatedAt": 1}`)
	candidate := rmw.String(`{"id": 7.0, "tags": ["b","a"], "members": [{"name":"Eve","role":"guest"}], "updatedAt": 2}`)

	redactor := diff.NewRedactor([]byte("a secret"))
	for _, d := range c.Compare(legacy, candidate).Differences {
		fmt.Printf("%s: %s, %s\n", d.Template, redactor.Token(d.A), redactor.Token(d.B))
	}
	// Output:
	// members[].name: string(3)#62f84800, string(3)#0079ece0
	// members[].rating: 0, absent
	// members[].role: "owner", "guest"
}
