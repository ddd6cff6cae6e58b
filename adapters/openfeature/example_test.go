package openfeature_test

import (
	"context"
	"fmt"

	sdk "github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"

	"github.com/unwatch/unwatch/adapters/openfeature"
	"github.com/unwatch/unwatch/cutover"
)

// A service sets the provider of its flag system. Here the flags are in memory.
func Example() {
	flags := memprovider.NewInMemoryProvider(map[string]memprovider.InMemoryFlag{"move-rooms": {
		State:          memprovider.Enabled,
		DefaultVariant: "first",
		Variants: map[string]any{
			"first": map[string]any{"stage": "copying", "percent": 5, "labels": []string{"room"}},
			"back":  map[string]any{"stage": "reverse"},
		},
	}})
	if err := sdk.SetProviderAndWait(flags); err != nil {
		panic(err)
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()

	stage := openfeature.New(ctx, sdk.NewDefaultClient(), "move-rooms")
	cfg := cutover.Config{Stage: stage} // for cutover.New

	present, err := cfg.Stage.Stage(ctx)
	fmt.Println(present, err, stage.Err())
	// Output: copying 5 % of room <nil> <nil>
}
