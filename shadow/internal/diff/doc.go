// Package diff compares two values by structure, and reports where they differ without
// their content.
//
// A [Comparer] compares two rmw.Values by its [Rules]. A [Difference] names its place by a
// template ("members[].name"), and holds both values in a form that cannot be printed. A
// [Redactor] makes tokens of them.
//
// # Equality
//
// A string that is a JSON object or array is a document and compares by structure. So does
// each field of a hash. The order of an object's fields, white space, escapes and the
// spelling of numbers (1 for 1.0, 10e-1) do not count. Everything else counts. Numbers
// compare as decimals of any length, since a float64 rounds 9007199254740993. One with an
// exponent beyond an int32 compares as it is written. A missing field, null, "", 0 and false
// are five different values.
//
// All other text compares byte by byte: plain text, counters ("7" is not "7.0"), invalid
// JSON or UTF-8, and objects that have two fields with one name. JSON readers interpret such
// objects in different ways, so they have no common meaning.
//
// An absent value, an empty string, and a string and a hash of the same content all differ.
//
// # Templates
//
// Dots join fields, and "[]" stands for any element of an array. A name is a quoted JSON
// string if it is empty or contains any of . [ ] " * or white space. In a rule, "*" is any
// one name. The document itself is "." in a rule, and "" in a difference.
//
//	updatedAt      members[].seen      unread.*      grid[][]      "odd name".x
//
// In a difference, "*" replaces a name that looks like data, so that no identity of a user
// becomes a label:
//
//   - a name that is not an ASCII letter or underscore followed by at most 31 letters,
//     digits, underscores and dashes: phone numbers, mail addresses, anything longer;
//   - a name with four digits or more, with eight hexadecimal digits in a row, or with more
//     than three changes between letters and digits: ids of all sorts;
//   - each name of an object or hash that has more than 64 names, on either side;
//   - each name that Rules.Keys cover. The names of a small map of plain words look like
//     fields, so Rules.Keys must list such a map.
//
// Below 16 levels a template ends in "…".
package diff
