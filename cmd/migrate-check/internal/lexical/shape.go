package lexical

// shape is what is known of a kind of thing, such as a client or a pipeline.
type shape struct {
	title string // as a message names it: "redis-py's Pipeline"
	// commands says that its methods are commands, named as these are.
	commands bool
	// keeps says that a method which is not known, or a command, returns the thing itself, as
	// those of a pipeline do.
	keeps bool
	// module says that it is a library, or a class: what is called in it is no command.
	module bool
	steps  map[string]step // by method, or field
	base   *shape          // where it is looked for what is not in steps
}

// step is what a method does.
type step struct {
	commands []string // what is sent
	rule     string   // if it does not follow from the commands
	to       string   // the shape of the result
	class    bool     // the result is a class, which is yet to be called
	yields   string   // the shape of what a function gets that is handed over
	self     bool     // the result is the thing itself
	tx       bool     // it is a transaction, in which the function runs
	plain    bool     // nothing is sent, and the result is no thing of Redis
	// do does what the rest cannot say.
	do func(*call) value
}

func (s *shape) step(name string) (step, bool) {
	for ; s != nil; s = s.base {
		if st, ok := s.steps[name]; ok {
			return st, true
		}
	}
	return step{}, false
}

// dialect is a language as it is written, with the libraries that it has.
type dialect struct {
	lang Language
	// shapes are the things of its libraries, by name.
	shapes map[string]*shape
	// classes are the names of types, and what they are.
	classes map[string]class
	// imports tells what a library is, by the path that it is imported from.
	imports func(w *walker, path string) (shape string, ok bool)
	self    string // "this", "self"
}

// class is a type with a name that is known.
type class struct {
	shape string
	from  []string // what its package begins with
	next  *class   // of the same name, in another library
}

// value is what is known of an expression.
type value struct {
	shape  *shape
	class  bool   // a class, which makes one when it is called
	self   bool   // the object that the method is of
	known  bool   // it is something else for sure, so its name says nothing
	konst  bool   // a constant
	text   string // its text
	made   bool   // a function that returns it
	origin int    // the token that a finding is at, which it came from, plus one
}

var nothing = value{known: true}

// none reports whether it is nothing at all: what is set to that is yet to become something.
func (v value) none() bool {
	return v.konst && (v.text == "None" || v.text == "null" || v.text == "nil" || v.text == "undefined")
}

// call is a call of a method, whose arguments were looked at.
type call struct {
	*walker
	recv value
	name string // of the method
	pos  int    // the token of its name
	args []arg
	// to is what the step says that the call returns.
	to value
}

// arg is an argument.
type arg struct {
	name     string // if it has one
	value    value
	from, to int // its tokens
}

// arg returns the argument with a name, or the one at a place if that is not negative.
func (c *call) arg(name string, at int) (arg, bool) {
	for _, a := range c.args {
		if a.name == name && name != "" {
			return a, true
		}
	}
	if at >= 0 && at < len(c.args) && c.args[at].name == "" {
		return c.args[at], true
	}
	return arg{}, false
}

// mentions reports whether the arguments have this word somewhere, or this text.
func (c *call) mentions(names ...string) bool {
	for _, a := range c.args {
		if c.in(a, names...) {
			return true
		}
	}
	return false
}

// maxLook is how many tokens are looked at when the meaning of one depends on what follows.
const maxLook = 80

func (c *call) in(a arg, names ...string) bool {
	for i := a.from; i < a.to && i < a.from+maxLook; i++ {
		if tok := c.walker.at(i); tok.kind == word || tok.kind == text {
			for _, name := range names {
				if fold(tok.text) == fold(name) {
					return true
				}
			}
		}
	}
	return false
}
