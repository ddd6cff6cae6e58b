// Package fixer applies changes to files, or shows them, and takes none that does not compile.
//
// Changes that are in each other's way, that concern a generated file, or that do not fit the
// file any more are left out and told. The others of a package are applied in memory, formatted,
// and type-checked, tests included. If that fails they are tried one after the other, and
// only those stay with which the package compiles, in each build that was looked at. Then only
// is anything written: each file in one step, with its mode, its owner, and the way in which its
// lines end, and none that has changed since it was looked at.
package fixer
