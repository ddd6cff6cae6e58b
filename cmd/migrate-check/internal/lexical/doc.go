// Package lexical searches files that no Go compiler read for commands that a proxy refuses:
// files in other languages, and Go files that are not built.
//
// One scanner serves all languages. A language is a row of a table: the endings of its files,
// and where its blocks, types and assignments stand. Client libraries are rows, too:
//
//	{js, "ioredis iovalkey", "ioredis' Redis", "ioredis' Pipeline"} // import paths, names in messages
//	{tx, "js", "ChainableCommander Multi"}                          // a type, by its role
//	client: {"PIPELINED BATCH": {do: piped, yields: pipe}}          // a method, by the role of its receiver
//
// A method that is named after its command needs no row.
//
// # Which files count
//
// A file counts if its code has a name that says Redis, such as an import, a type or a variable,
// or if it calls methods that only clients of Redis have.
//
// # Which calls count
//
// The scanner traces the receiver of a call through imports, declared types, assignments, fields,
// parameters, results of functions, and values that a library passes to a callback. Then:
//
//   - On a client, each method that sends a refused command is a finding.
//   - On a receiver that is known to be something else nothing is.
//   - On an unknown receiver a distinctive method is a finding: multi, psubscribe, blpop. An
//     ambiguous one, such as publish or keys, needs a receiver named like a connection, and a file
//     that imports no other client that publishes or subscribes.
//
// The type any, and others that say nothing, leave a receiver unknown. A declared type that is
// none of a client library makes it something else, unless its name says Redis.
//
// In strings the scanner looks for commands of Lua scripts, and in lists for commands that are
// sent later. A comment with migratecheck:ignore is a directive in every language.
//
// EXEC and DISCARD are findings only in a file that begins no transaction. Findings have low
// confidence, and the rule of their command; MC902 stands for a command whose name is a variable.
//
// # Limits
//
// The scanner reads one file at a time. A module of the same tree counts by its
// name only. It does not follow Java's reflection, Python's getattr, JavaScript's
// client[name], or Ruby's send. It does not judge the keys of commands. Of what libraries send by
// themselves it knows job queues only: Redisson's locks subscribe, and are not reported.
//
// Time and memory are linear in the length of the file, also for hostile input.
package lexical
