package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

func loadTree(t *testing.T, dir string) *tree {
	t.Helper()
	tree, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func report(t *testing.T, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

func TestImports(t *testing.T)    { report(t, checkImports(loadTree(t, root), houseRules())) }
func TestNoGlobals(t *testing.T)  { report(t, checkState(loadTree(t, root))) }
func TestFileSize(t *testing.T)   { report(t, checkSize(loadTree(t, root), maxLines)) }
func TestNoSleeps(t *testing.T)   { report(t, checkSleep(loadTree(t, root))) }
func TestPackageDoc(t *testing.T) { report(t, checkDocs(loadTree(t, root))) }

func TestCoreSize(t *testing.T) {
	report(t, checkCore(loadTree(t, root), "lockupdate", maxLockupdate, "lockupdate/redlock", "lockupdate/internal/poll/scale"))
}

func TestNoPrograms(t *testing.T) {
	findings, err := checkPrograms(root)
	if err != nil {
		t.Fatal(err)
	}
	report(t, findings)
}

func TestScripts(t *testing.T) {
	findings, err := checkScripts(root)
	if err != nil {
		t.Fatal(err)
	}
	report(t, findings)
}

func TestRequirements(t *testing.T) {
	report(t, checkRequirements(
		read(t, root+"/go.mod"), read(t, "testdata/requirements.golden"), read(t, root+"/CONTRIBUTING.md")))
}

// An empty tree would pass every test above.
func TestTreeIsNotEmpty(t *testing.T) {
	packages := loadTree(t, root).packages()
	for _, pkg := range []string{"rmw", "internal/testing/archtest"} {
		if len(packages[pkg]) == 0 {
			t.Errorf("package %s was not seen", pkg)
		}
	}
	for pkg := range packages {
		if strings.HasPrefix(pkg, "tools") || strings.Contains(pkg, "testdata") {
			t.Errorf("%s is not a package of the root module", pkg)
		}
	}
}

func TestModuleIsTheRootModule(t *testing.T) {
	if !strings.HasPrefix(read(t, root+"/go.mod"), "module "+module+"\n") {
		t.Fatalf("go.mod does not declare %s", module)
	}
}
