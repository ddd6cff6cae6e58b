package servers

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports that a server gets are below those that systems give to the other ends of
// connections (Linux: from 32768, others: from 49152). A port among those could be taken by
// any connection while its server is down, so that the server could not start again on it.
const (
	firstPort = 10000
	endPort   = 32768
	portTries = 1000
)

// freePorts finds n distinct loopback ports that nobody listens on right now.
// All are held until all are found, so that they differ.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, err := listenSomewhere()
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func listenSomewhere() (l net.Listener, err error) {
	for range portTries {
		port := firstPort + rand.IntN(endPort-firstPort)
		if l, err = net.Listen("tcp", loopback(port)); err == nil {
			return l, nil
		}
	}
	return nil, err
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
