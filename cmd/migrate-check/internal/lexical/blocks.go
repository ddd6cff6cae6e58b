package lexical

// block is a stretch of code with names of its own: a file, a class, a function, or a pair of
// braces.
type block struct {
	from, to int // its tokens, with the parameters
	parent   int
	name     string // of the class or the function
	class    bool
	fn       bool
	column   int      // of Python and Ruby: where it began
	bases    []string // of a class: the types it is derived from
	base     *value   // the client that the class is, by its bases; nil until it is known
	returns  []int    // of a function: the tokens where its results begin
	params   [2]int   // of a function: the tokens of its parameters
}

// lambdaLook limits the search for the end of a function without braces, in tokens.
const lambdaLook = 300

var control = words("if for while switch catch foreach using lock synchronized when match elseif unless until with fixed else do try " +
	"and or not in return throw await yield assert elif new super this print echo")

// structure finds the blocks, the bracket around each token, and the block of each token.
func (s *scanner) structure() {
	n := len(s.all)
	s.up, s.in = make([]int, n+1), make([]int, n+1)
	s.blocks = []block{{to: n, parent: -1}}
	var brackets []int
	begins := map[int][]int{}
	add := func(b block) {
		begins[b.from] = append(begins[b.from], len(s.blocks))
		s.blocks = append(s.blocks, b)
	}
	var indented []int // indexes into blocks of those that end with their indentation
	for i := range n {
		tok := s.all[i]
		for len(brackets) > 0 && s.all[brackets[len(brackets)-1]].match <= i {
			brackets = brackets[:len(brackets)-1]
		}
		s.up[i] = -1
		if len(brackets) > 0 {
			s.up[i] = brackets[len(brackets)-1]
		}
		if tok.kind == open {
			brackets = append(brackets, i)
		}
		if s.lang.indents && tok.nl && s.up[i] < 0 {
			column := s.column(i)
			for len(indented) > 0 && s.blocks[indented[len(indented)-1]].column >= column && !s.lang.middle[tok.text] {
				s.blocks[indented[len(indented)-1]].to = i
				indented = indented[:len(indented)-1]
			}
		}
		switch {
		case tok.kind == word && s.lang.indents && s.heads(i):
			b := s.head(i)
			b.to, b.column = n, s.lineColumn(i)
			if s.up[i] >= 0 {
				b.to = min(b.to, s.all[s.up[i]].match)
			}
			indented = append(indented, len(s.blocks))
			add(b)
		case tok.kind == word && s.lang.indents && tok.text == "do" && !tok.nl && s.lang.id == Ruby:
			b := block{from: i, to: n, fn: true, column: s.lineColumn(i), params: s.pipes(i + 1)}
			indented = append(indented, len(s.blocks))
			add(b)
		case tok.kind == open && tok.text == "{" && s.lang.id != Python:
			add(s.braced(i))
		case tok.kind == sign && (tok.text == "=>" || tok.text == "->" && s.lang.id == Java) && !s.is(i+1, "{"):
			if from, params, ok := s.lambda(i); ok {
				add(block{from: from, to: s.endOfLambda(i + 1), fn: true, params: params, returns: []int{i + 1}, name: s.assigned(from)})
			}
		}
	}
	s.nest(begins)
}

// maxNesting limits the nesting of blocks, because a lookup visits each of them.
const maxNesting = 40

// nest finds the innermost block of each token.
func (s *scanner) nest(begins map[int][]int) {
	stack := []int{0}
	for i := range s.in {
		for len(stack) > 1 && s.blocks[stack[len(stack)-1]].to <= i {
			stack = stack[:len(stack)-1]
		}
		for _, b := range begins[i] {
			top := stack[len(stack)-1]
			s.blocks[b].parent = top
			if len(stack) > maxNesting {
				continue
			}
			s.blocks[b].to = min(s.blocks[b].to, s.blocks[top].to)
			stack = append(stack, b)
		}
		s.in[i] = stack[len(stack)-1]
	}
	for i := range s.all { // the results of functions
		if !s.is(i, "return") && !(s.is(i, "yield") && s.lang.id == Python) || s.at(i).kind != word {
			continue
		}
		if b := s.function(i); b > 0 {
			s.blocks[b].returns = append(s.blocks[b].returns, i+1)
		}
	}
}

// function is the innermost function around a token, 0 if there is none.
func (s *scanner) function(i int) int {
	for b := s.in[i]; b > 0; b = s.blocks[b].parent {
		if s.blocks[b].fn {
			return b
		}
	}
	return 0
}

// classAround is the innermost class around a block, 0 if there is none.
func (s *scanner) classAround(b int) int {
	for ; b > 0; b = s.blocks[b].parent {
		if s.blocks[b].class {
			return b
		}
	}
	return 0
}

// funcName is the function around a token as a finding names it.
func (s *scanner) funcName(i int) string {
	name := ""
	for b := s.in[i]; b > 0; b = s.blocks[b].parent {
		switch {
		case s.blocks[b].class && s.blocks[b].name != "":
			if name == "" {
				return ""
			}
			return s.blocks[b].name + "." + name
		case s.blocks[b].fn && name == "":
			name = s.blocks[b].name
		}
	}
	return name
}

// heads reports whether a class or function of an indented language begins here.
func (s *scanner) heads(i int) bool {
	tok := s.at(i)
	return s.at(i+1).kind == word && (tok.text == "def" || tok.text == "class" || tok.text == "module" && tok.nl && s.lang.id == Ruby)
}

// head reads the beginning of a class or function of an indented language.
func (s *scanner) head(i int) block {
	b := block{from: i + 2, name: s.at(i + 1).text}
	b.class = !s.is(i, "def")
	b.fn = !b.class
	j := i + 2
	if s.is(j, ".") || s.is(j, "::") { // def self.name, class A::B
		b.name = s.at(j + 1).text
		j += 2
	}
	switch {
	case s.is(j, "(") && b.fn:
		b.params = [2]int{j + 1, s.at(j).match}
	case s.is(j, "("):
		b.bases = s.wordsIn(j+1, s.at(j).match)
	}
	return b
}

// braced reads the head of a block in braces: of a class, a function, or a loop.
func (s *scanner) braced(i int) block {
	b := block{from: i, to: min(s.at(i).match+1, len(s.all))}
	if s.lang.id == Kotlin { // { a, b -> … }
		for j := i + 1; j < i+12 && (s.at(j).kind == word || s.is(j, ",") || s.is(j, ":") || s.is(j, "->")); j++ {
			if s.is(j, "->") {
				b.fn, b.params = true, [2]int{i + 1, j}
			}
		}
	}
	if s.lang.id == Ruby {
		if s.is(i+1, "|") {
			b.fn, b.params = true, s.pipes(i+1)
		}
		return b
	}
	j := i - 1
	if s.is(j, "=>") || s.is(j, "->") {
		if from, params, ok := s.lambda(j); ok {
			b.from, b.params, b.fn, b.name = from, params, true, s.assigned(from)
			return b
		}
	}
	// Skip the type of a result, a throws clause, and the bases of a class.
	for n := 0; n < maxLook && j > 0; n++ {
		tok := s.at(j)
		if s.lang.lines && j+1 < i && s.at(j+1).nl {
			return b
		}
		switch {
		case tok.kind == clos && tok.text == ")":
			p := tok.match
			if p <= 0 {
				return b
			}
			name := p - 1
			if s.is(name, ">") { // name<T>(…)
				for n := 0; n < 12 && name > 0 && !s.is(name, "<"); n++ {
					name--
				}
				name--
			}
			if s.is(name, "use") && s.lang.id == PHP { // function (…) use (…) {
				j = name - 1
				continue
			}
			if s.classHead(name) { // class A(…) : B {
				b.from, b.class, b.name, b.params = p, true, s.at(name).text, [2]int{p + 1, j}
				b.bases = s.wordsIn(j+1, i)
				return b
			}
			if s.at(name).kind == word && control[s.at(name).text] {
				b.from = p
				return b
			}
			if s.at(name).kind == word {
				b.from, b.fn, b.params = p, true, [2]int{p + 1, j}
				if !s.is(name, "function") && !s.is(name, "func") && !s.is(name, "fn") {
					b.name = s.at(name).text
				} else {
					b.name = s.assigned(name)
				}
				if s.is(name-1, "new") { // new A(…) { … }
					b.from, b.fn, b.params = i, false, [2]int{}
				}
			}
			return b
		case s.classHead(j):
			b.class, b.name, b.bases = true, tok.text, s.wordsIn(j+1, i)
			return b
		case s.is(j, "class"), s.is(j, "object"): // without a name
			b.class, b.bases = true, s.wordsIn(j+1, i)
			return b
		case tok.kind == word && !control[tok.text], tok.kind == sign && tok.text != ";" && tok.text != "=" && tok.text != "}",
			tok.kind == clos && tok.text == "]", tok.kind == open && tok.text == "[":
			j--
		default:
			return b
		}
	}
	return b
}

// classHead reports whether a word is the name of a class.
func (s *scanner) classHead(i int) bool {
	return s.at(i).kind == word && s.at(i-1).kind == word && classWords[s.at(i-1).text]
}

var classWords = words("class interface struct trait record enum object namespace")

// wordsIn are the names in a range.
func (s *scanner) wordsIn(from, to int) (all []string) {
	for i := from; i < to && i < from+maxLook; i++ {
		if s.at(i).kind == word {
			all = append(all, s.at(i).text)
		}
	}
	return all
}

// lambda finds the parameters before an arrow.
func (s *scanner) lambda(arrow int) (from int, params [2]int, ok bool) {
	j := arrow - 1
	if s.lang.id == JS && s.at(j).kind == word || s.lang.id == JS && s.is(j, ">") { // (…): Type =>
		for n := 0; n < 12 && (s.at(j).kind == word || s.at(j).kind == sign && !s.is(j, "=") && !s.is(j, ";")); n++ {
			if s.is(j, ":") && s.is(j-1, ")") {
				return s.at(j - 1).match, [2]int{s.at(j-1).match + 1, j - 1}, s.at(j-1).match >= 0
			}
			j--
		}
		j = arrow - 1
	}
	switch tok := s.at(j); {
	case tok.kind == clos && tok.text == ")" && tok.match >= 0:
		return tok.match, [2]int{tok.match + 1, j}, true
	case tok.kind == word && s.lang.id != PHP && !(s.lang.id == CSharp && s.typeBefore(j) > 0):
		return j, [2]int{j, j + 1}, true
	}
	return 0, [2]int{}, false
}

// assigned is the name that a function is given: name = function (…).
func (s *scanner) assigned(from int) string {
	j := from - 1
	for n := 0; n < 2 && (s.is(j, "async") || s.is(j, "function")); n++ {
		j--
	}
	if (s.is(j, "=") || s.is(j, ":")) && s.at(j-1).kind == word {
		return bare(s.at(j - 1).text)
	}
	if s.lang.id == CSharp && s.at(j).kind == word { // Type Name(…) => x
		return s.at(j).text
	}
	return ""
}

// endOfLambda is where a body without braces ends.
func (s *scanner) endOfLambda(i int) int {
	for j := i; j < len(s.all) && j < i+lambdaLook; j++ {
		tok := s.at(j)
		switch {
		case tok.kind == clos, tok.kind == sign && (tok.text == "," || tok.text == ";"):
			return j
		case tok.kind == open:
			if tok.match >= len(s.all) {
				return len(s.all)
			}
			j = tok.match
		case j > i && tok.nl && !s.member(j) && s.lang.id != Java && s.lang.id != CSharp:
			return j
		}
	}
	return min(i+lambdaLook, len(s.all))
}

// pipes are the parameters of a block of Ruby: |a, b|.
func (s *scanner) pipes(i int) [2]int {
	if !s.is(i, "|") {
		return [2]int{}
	}
	for j := i + 1; j < i+20; j++ {
		if s.is(j, "|") {
			return [2]int{i + 1, j}
		}
	}
	return [2]int{}
}

// lineColumn is the column of the line that a block of Ruby begins on.
func (s *scanner) lineColumn(i int) int {
	for j := i; j > i-maxLook && j >= 0; j-- {
		if s.at(j).nl && !s.member(j) {
			return s.column(j)
		}
	}
	return s.column(i)
}
