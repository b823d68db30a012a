package mongod

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	loopbackHost = "127.0.0.1"

	// firstPort and lastPort lie below the ephemeral ports. Otherwise an outgoing connection could take the port of a member that
	// is down; even a connection to that port can.
	firstPort = 20000
	lastPort  = 32000

	portAttempts = 1000
)

func loopback(port int) string { return net.JoinHostPort(loopbackHost, strconv.Itoa(port)) }

// freePorts returns ports on which nobody listens right now.
func freePorts(count int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close() // nothing was accepted
		}
	}()
	for range portAttempts {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue // in use, or already drawn
		}
		listeners = append(listeners, listener)
		if ports = append(ports, port); len(ports) == count {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports from %d to %d on %s; end some of the programs that listen there",
		count, firstPort, lastPort, loopbackHost)
}

// checkPorts returns an error if one of the ports cannot be listened on.
func checkPorts(ports []int) error {
	for _, port := range ports {
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			return fmt.Errorf("port %d cannot be used; name another one, or none to have a free one found: %w", port, err)
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}
