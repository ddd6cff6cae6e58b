/*
Package stranger has no rule.
*/
package stranger
