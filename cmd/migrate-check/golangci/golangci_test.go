package golangci_test

import (
	"path/filepath"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"

	_ "github.com/unwatch/unwatch/cmd/migrate-check/golangci"
)

func open(t *testing.T, conf any) (register.LinterPlugin, error) {
	t.Helper()
	make, err := register.GetPlugin("migratecheck")
	require.NoError(t, err)
	return make(conf)
}

func TestPlugin(t *testing.T) {
	p, err := open(t, map[string]any{"rules": "MC2"})
	require.NoError(t, err)
	assert.Equal(t, register.LoadModeTypesInfo, p.GetLoadMode())
	analyzers, err := p.BuildAnalyzers()
	require.NoError(t, err)
	for _, a := range analyzers {
		if a.Name == "redispubsub" {
			analysistest.Run(t, filepath.Join(analysistest.TestData(), "../../internal/analysis/testdata"), a, "pubsub")
		}
		if a.Name == "redistx" {
			analysistest.Run(t, filepath.Join(analysistest.TestData(), "../../internal/analysis/testdata"), a, "silent", "names")
		}
	}
}

func TestSettings(t *testing.T) {
	_, err := open(t, nil)
	assert.NoError(t, err)
	_, err = open(t, map[string]any{"rules": "MCX"})
	assert.ErrorContains(t, err, `there is no rule "MCX"`)
	_, err = open(t, map[string]any{"rule": "MC1"})
	assert.ErrorContains(t, err, "unknown field")
	_, err = open(t, map[string]any{"profile": "codex"})
	assert.ErrorContains(t, err, `migratecheck: -profile: `)
}
