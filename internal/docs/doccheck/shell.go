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
	sh := shell{checker: c, dir: "."}
	for i, text := range strings.Split(b.text, "\n") {
		text = strings.TrimSpace(text)
		command := withoutComment(text)
		if command == "" || executed[text] || executed[command] {
			continue
		}
		if why := sh.line(command); why != "" {
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

// shell checks commands in order; cd changes its folder.
type shell struct {
	*checker
	dir string
}

const unexecuted = "no target or script executes this command: use <!-- executed-by: FILE -->, or a target of the Makefile"

var quoted = regexp.MustCompile(`'[^']*'|"[^"$` + "`" + `]*"`)

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*=\S*$`)

// line returns the reason why a line is not executed anywhere, or "".
func (s *shell) line(text string) string {
	text = quoted.ReplaceAllString(text, "QUOTED")
	if strings.ContainsAny(text, "|;<>`\\") || strings.Contains(text, "$(") {
		return unexecuted
	}
	for command := range strings.SplitSeq(text, " && ") {
		words := strings.Fields(command)
		for len(words) > 0 && assignment.MatchString(words[0]) {
			words = words[1:]
		}
		if why := s.command(words); why != "" {
			return why
		}
	}
	return ""
}

func (s *shell) command(words []string) string {
	if len(words) == 0 {
		return ""
	}
	switch name, args := words[0], words[1:]; {
	case name == "make":
		return s.makeTargets(args)
	case name == "cd" && len(args) == 1:
		return s.changeDir(args[0])
	case name == "git" && len(args) == 2 && args[0] == "clone":
		if strings.TrimSuffix(args[1], ".git") != "https://"+s.module {
			return "this is not https://" + s.module
		}
		return ""
	case name == "go" && len(args) > 0:
		return s.goCommand(args[0], args[1:])
	}
	return unexecuted
}

func (s *shell) changeDir(dir string) string {
	if s.dir == "." && dir == path.Base(s.module) {
		return "" // the clone's folder
	}
	s.dir = path.Join(s.dir, dir)
	if info, err := os.Stat(filepath.Join(s.root, s.dir)); err != nil || !info.IsDir() {
		return "no such folder"
	}
	return ""
}

var target = regexp.MustCompile(`(?m)^([A-Za-z0-9_.-]+(?: +[A-Za-z0-9_.-]+)*)\s*:(?:[^=]|$)`)

func (s *shell) makeTargets(args []string) string {
	makefile, err := os.ReadFile(filepath.Join(s.root, s.dir, "Makefile"))
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
func (s *shell) goCommand(verb string, args []string) string {
	if !slices.Contains([]string{"run", "test", "install", "get", "vet", "build"}, verb) {
		return unexecuted
	}
	mentioned := false
	for _, arg := range args {
		dir, isPackage := s.packageDir(arg)
		if !isPackage {
			continue
		}
		mentioned = true
		if !s.isPackage(dir) {
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
func (s *shell) packageDir(arg string) (string, bool) {
	arg, _, _ = strings.Cut(arg, "@")
	if arg == "." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../") {
		return path.Join(s.dir, arg), true
	}
	if arg == s.module {
		return "...", true // the module, which need not be a package
	}
	return strings.CutPrefix(arg, s.module+"/")
}

// isPackage: "dir/..." needs one package anywhere below.
func (s *shell) isPackage(dir string) bool {
	parent, all := strings.CutSuffix(dir, "...")
	pattern := filepath.Join(s.root, filepath.FromSlash(parent))
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
