package servers

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// Server ports are below the ephemeral ports (Linux: from 32768, others: from 49152). While its server is
// down, any connection could take an ephemeral port, so that the server could not restart on it.
const (
	firstPort = 10000
	endPort   = 32768
	portTries = 1000
)

// freePorts finds n distinct free loopback ports. It holds all until all are found, so that they differ.
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
