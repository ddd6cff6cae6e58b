package lexical

import "strings"

// dialectOf returns what is known of a language.
func dialectOf(lang Language) *dialect {
	switch lang {
	case Go:
		return &goDialect
	case Java:
		return &javaDialect
	case Kotlin:
		return &kotlinDialect
	case Python:
		return &pythonDialect
	case JS:
		return &jsDialect
	case CSharp:
		return &csharpDialect
	case PHP:
		return &phpDialect
	case Ruby:
		return &rubyDialect
	}
	return nil
}

// mentions are words that a file has that uses one of the libraries: without any of them it
// need not be looked at.
var mentions = []string{"redis", "jedis", "lettuce", "valkey", "bull", "predis", "resque", "sidekiq", "radix", "credis", "tedis"}

func mentioned(src string) bool {
	lower := strings.ToLower(src)
	for _, m := range mentions {
		if strings.Contains(lower, m) {
			return true
		}
	}
	return false
}

// steps makes a table of several, whose keys may be several names each.
func steps(all ...map[string]step) map[string]step {
	m := map[string]step{}
	for _, some := range all {
		for names, st := range some {
			for name := range strings.SplitSeq(names, " ") {
				m[name] = st
			}
		}
	}
	return m
}

func classOf(shape string) step { return step{to: shape, class: true} }
func to(shape string) step      { return step{to: shape} }

// sends is a method that sends these commands.
func sends(commands ...string) step { return step{commands: commands} }

// transaction is a method that begins one.
func transaction(shape string) step {
	return step{to: shape, yields: shape, tx: true, do: begin}
}

func begin(c *call) value {
	origin := c.begin()
	v := c.to
	if v.origin == 0 {
		v.origin = origin
	}
	return v
}

// finishes is a method that ends a transaction.
func finishes(command string) step {
	return step{do: func(c *call) value {
		c.finish(command)
		return c.to
	}}
}

// listens is a subscription, in which a pattern of the notifications may be.
func listens(command, shape string) step {
	return step{to: shape, do: func(c *call) value {
		c.sent(false, command)
		c.notifications()
		return c.to
	}}
}

// ruledBy is something that is made, or set, and a matter of a rule.
func ruledBy(rule, shape string, what ...string) step {
	return step{to: shape, rule: rule, commands: what}
}

// doing is a step with a function.
func doing(do func(*call) value) step { return step{do: do} }

var byNameStep = doing(byName)
