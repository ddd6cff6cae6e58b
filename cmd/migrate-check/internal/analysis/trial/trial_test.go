package trial_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/trial"
)

func TestWrong(t *testing.T) {
	assert.Empty(t, trial.Wrong(analysis.Diagnostic{Category: "MC402", Message: "x (MC402)"}))
	assert.Empty(t, trial.Wrong(analysis.Diagnostic{Category: "MC402/error", Message: "x (MC402)"}))
	for category, message := range map[string]string{
		"MC400": "x (MC400)", "MC402/bad": "x (MC402)", "MC402/warning": "x (MC402)", "MC401": "x", "MC404": "x\ny (MC404)",
	} {
		assert.NotEmpty(t, trial.Wrong(analysis.Diagnostic{Category: category, Message: message}), category)
	}
}
