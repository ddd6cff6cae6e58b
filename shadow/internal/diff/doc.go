// Package diff tells whether two values mean the same, and where they differ, without
// telling what they say.
//
// A [Comparer] compares two rmw.Values as [Rules] say. What it finds names the place by
// a template ("members[].name"), of which there are few, and holds the values in a form
// that cannot be printed. A [Redactor] makes tokens of them.
//
// # What is the same
//
// A string that is a JSON object or array is a document and compares by structure, and so
// does each field of a hash. Order and spelling do not matter: the order of an object's
// fields, white space, escapes, 1 for 1.0 and 10e-1. Everything else does. Numbers compare
// as decimals of any length, since a float64 takes 9007199254740993 for its neighbour; and
// missing, null, "", 0 and false are five different things.
//
// Everything else is bytes, of which each counts: plain text, a counter ("7" is not "7.0"),
// and what is no unambiguous document: invalid JSON or UTF-8, or an object with two fields
// of one name. Readers do not agree on what those mean, so nobody can say that two of them
// mean the same.
//
// Absent, an empty string, a string and a hash of the same content all differ.
//
// # Templates
//
// Fields are joined by dots, and "[]" stands for any element of an array. A name is put
// in double quotes, as a JSON string, if it is empty or contains any of . [ ] " * or white
// space. In a rule, "*" is any one name. The document itself is ".", but differs at "".
//
//	updatedAt      members[].seen      unread.*      grid[][]      "odd name".x
//
// In what is found, "*" stands for a name that looks like data, so that no identity of a
// user becomes a label:
//
//   - a name that is not an ASCII letter or underscore followed by at most 31 letters,
//     digits, underscores and dashes: phone numbers, mail addresses, anything longer;
//   - one with four digits or more, with eight hexadecimal digits in a row, or which
//     changes more than three times between letters and digits: identities of all sorts;
//   - each name of an object or hash that has more than 64 of them, on either side;
//   - each name that Rules.Keys cover. The names of a small map of plain words cannot be
//     told from fields, so such a map has to be declared.
//
// Below 16 levels a template ends in "…".
package diff
