package driver

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPathsOfTests(t *testing.T) {
	for _, file := range []string{
		"tests/a.py", "src/__tests__/a.ts", "Acme.Store.Tests/Queues/A.cs", "src/integration-test/java/A.java", "app/src/androidTest/A.kt",
		"Tests/A.php", "e2e/a.ts", "test_a.py", "conftest.py", "lib/a-test.js", "a.spec.ts", "src/ATests.java", "specs/a.rb",
	} {
		assert.True(t, isTest(file), file)
	}
	for _, file := range []string{
		"src/ab-test/a.ts", "contest/a.py", "latest/a.py", "src/Testing.java", "split_test_groups/a.rb",
	} {
		assert.False(t, isTest(file), file)
	}
}
