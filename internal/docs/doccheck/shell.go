package doccheck

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// checkShell requires that every command in a document is executed somewhere.
func (c *checker) checkShell(doc *document) {
	for _, b := range doc.blocks {
		switch b.lang {
		case "sh":
			c.checkCommands(doc, b)
		case "bash", "shell", "console", "zsh", "shell-session", "terminal":
			c.found(doc, b.line, "mark the block sh instead of %s, so that its commands are checked", b.lang)
		}
	}
}

func (c *checker) checkCommands(doc *document, b block) {
	executed := map[string]bool{}
	if file, ok := strings.CutPrefix(b.comment, "executed-by:"); ok {
		file = strings.TrimSpace(file)
		text, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(path.Clean("/"+file))))
		if err != nil {
			c.found(doc, b.line, "executed-by: no such file: %s", file)
		}
		for text := range strings.Lines(string(text)) {
			executed[strings.TrimSpace(text)] = true
		}
	}
	for i, text := range strings.Split(b.text, "\n") {
		text = strings.TrimSpace(text)
		command := withoutComment(text)
		if command == "" || executed[text] || executed[command] {
			continue
		}
		if why := c.unchecked(command); why != "" {
			c.found(doc, b.line+1+i, "%q: %s", command, why)
		}
	}
}

func withoutComment(text string) string {
	if strings.HasPrefix(text, "#") {
		return ""
	}
	command, _, _ := strings.Cut(text, " #")
	return strings.TrimSpace(command)
}

const unexecuted = "no target or script executes this command: use <!-- executed-by: FILE -->, or a target of the Makefile"

var quoted = regexp.MustCompile(`'[^']*'|"[^"$` + "`" + `]*"`)

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*=\S*$`)

// unchecked returns the reason why a line is not executed anywhere, or "".
func (c *checker) unchecked(text string) string {
	text = quoted.ReplaceAllString(text, "QUOTED")
	words := strings.Fields(text)
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	switch {
	case strings.ContainsAny(text, "|&;<>`\\") || strings.Contains(text, "$("):
		return unexecuted
	case len(words) == 0:
		return ""
	case words[0] == "make":
		return c.makeTargets(words[1:])
	case words[0] == "go" && len(words) > 3 && words[1] == "-C":
		return c.goCommand(words[2], words[3], words[4:])
	case words[0] == "go" && len(words) > 1:
		return c.goCommand(".", words[1], words[2:])
	}
	return unexecuted
}

var target = regexp.MustCompile(`(?m)^([A-Za-z0-9_.-]+(?: +[A-Za-z0-9_.-]+)*)\s*:(?:[^=]|$)`)

func (c *checker) makeTargets(args []string) string {
	makefile, err := os.ReadFile(filepath.Join(c.root, "Makefile"))
	if err != nil {
		return "no Makefile"
	}
	var targets []string
	for _, found := range target.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, strings.Fields(found[1])...)
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") && !assignment.MatchString(arg) && !slices.Contains(targets, arg) {
			return "the Makefile has no target " + arg
		}
	}
	return ""
}

// goCommand checks that the packages of this module exist.
func (c *checker) goCommand(from, verb string, args []string) string {
	if !slices.Contains([]string{"run", "test", "install", "get", "vet", "build"}, verb) {
		return unexecuted
	}
	mentioned := false
	for _, arg := range args {
		dir, isPackage := c.packageDir(from, arg)
		if !isPackage {
			continue
		}
		mentioned = true
		if !c.isPackage(dir) {
			return "no such package: " + arg
		}
		if verb == "run" {
			break // the rest are the program's arguments
		}
	}
	if !mentioned && verb != "test" {
		return unexecuted
	}
	return ""
}

// packageDir returns the folder, relative to the root, of an argument that names a package of this module.
func (c *checker) packageDir(from, arg string) (string, bool) {
	arg, _, _ = strings.Cut(arg, "@")
	if arg == "." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../") {
		return path.Join(from, arg), true
	}
	if arg == c.module {
		return "...", true // the module, which need not be a package
	}
	return strings.CutPrefix(arg, c.module+"/")
}

// isPackage: "dir/..." needs one package anywhere below.
func (c *checker) isPackage(dir string) bool {
	parent, all := strings.CutSuffix(dir, "...")
	pattern := filepath.Join(c.root, filepath.FromSlash(parent))
	info, err := os.Stat(pattern)
	if err != nil || !info.IsDir() {
		return false
	}
	if all {
		return true
	}
	files, err := filepath.Glob(filepath.Join(pattern, "*.go"))
	return err == nil && len(files) > 0
}
