package main

import _ "os"

var events = make(chan int)

func init() {}

func main() { <-events }
