// Tool is a program.
package main

func main() {
	// snippet:hello
	if true {

		println("hello")
	}
	// endsnippet

	// snippet:bye
	println("bye")
	// endsnippet
}
