// Package lexical searches files that no Go compiler read for commands that a proxy refuses:
// files in other languages, and Go files that are not built.
//
// One scanner serves all languages. A language is a row of a table: the endings of its files, and the
// forms of its comments and strings. Methods are rows, too:
//
//	only: MULTI PSUBSCRIBE BLPOP                  // methods that only clients of Redis have
//	client: {"EVAL": {needs: named, do: eval}}    // a method, by the role of its receiver
//	passing: {"GETRESOURCE SYNC": client}         // a method that returns a client from a client
//
// A method that is named after its command needs no row.
//
// # Which files count
//
// A file counts if its code or its path has a name that says Redis, such as an import, a type or a variable,
// or if it calls methods that only clients of Redis have.
//
// # Which calls count
//
// One rule decides about the receiver of a call. A receiver is a client if its name says Redis, or is the name of a
// connection or a pipeline, or if it is assigned, declared or handed over from a client in the same file. The last
// declaration above the call decides, without regard to scopes.
//
//   - A method that only clients of Redis have counts on any receiver, unless its type is known and is no client.
//   - A method that other libraries have as well, such as publish or keys, needs a client. A name like a
//     connection does not suffice in a file that imports another library that publishes and subscribes.
//   - A data command, and a method with a common name, such as move, needs a receiver that says Redis.
//
// In strings the scanner looks for commands of Lua scripts, and in lists for commands that are
// sent later. A comment with migratecheck:ignore is a directive in every language.
//
// EXEC and DISCARD are findings only in a file that begins no transaction. Findings have low
// confidence, and the rule of their command; MC902 stands for a command with a variable as its name.
//
// # Limits
//
// The scanner reads one file at a time. It does not follow Java's reflection, Python's getattr, JavaScript's
// client[name], or Ruby's send. The keys of a command are in one slot only if the text of each has the same hash
// tag. Of the commands that libraries send by
// themselves it knows those of job queues only: Redisson's locks subscribe, and are not reported.
//
// Time and memory are linear in the length of the file, also for hostile input.
package lexical
