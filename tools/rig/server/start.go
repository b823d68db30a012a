package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// launch describes how to start a server that becomes primary by itself.
type launch struct {
	origin     Origin
	replicaSet string
	// command makes the command, which listens on a port of 127.0.0.1 and keeps all its files in dir.
	command func(dir, port string) (command, error)
}

// start starts a server in a new private directory and waits until it answers as a primary.
func start(ctx context.Context, cfg Config, l launch) (*Server, error) {
	c, address, err := startListener(cfg, l.command)
	if err != nil {
		return nil, fmt.Errorf("start %v: %w", l.origin, err)
	}
	uri := "mongodb://" + address + "/?replicaSet=" + l.replicaSet
	version, err := settle(ctx, cfg, c, uri)
	if err != nil {
		// A stopped child has written all of its output.
		err = errors.Join(err, c.stop())
		err = fmt.Errorf("%v, started as %s: %w; the end of its log:\n%s", l.origin, c.cmd.Path, err, c.logTail())
		return nil, errors.Join(err, c.close())
	}
	form := Form{Topology: Topology{kind: replicaSet, size: 1}}
	return &Server{URI: uri, Version: version, Origin: l.origin, Form: form, parts: []part{c}}, nil
}

// startListener starts a command that listens on a port of 127.0.0.1 and keeps all its files in a private directory. It returns
// its address.
func startListener(cfg Config, make func(dir, port string) (command, error)) (_ *child, address string, err error) {
	dir, err := os.MkdirTemp(cfg.TempDir, "rig-server-")
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	address, err = freeAddress()
	if err != nil {
		return nil, "", err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", err
	}
	what, err := make(dir, port)
	if err != nil {
		return nil, "", err
	}
	c, err := startChild(dir, what)
	return c, address, err
}

// settle waits until a started server is a primary, has ended, or has taken too
// long. It returns the server's version.
func settle(ctx context.Context, cfg Config, c *child, uri string) (_ string, err error) {
	ctx, stopTimer := context.WithTimeoutCause(ctx, cfg.StartTimeout,
		fmt.Errorf("it did not become a primary within %v", cfg.StartTimeout))
	defer stopTimer()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-c.exited:
			cancel(fmt.Errorf("it ended by itself (%v)", c.cmd.ProcessState))
		case <-ctx.Done():
		}
	}()
	version, err := awaitPrimary(ctx, cfg.StartTimeout, uri)
	if err != nil && ctx.Err() != nil {
		// The driver only reports that it found no server; the cause says why.
		err = context.Cause(ctx)
	}
	return version, err
}

// freeAddress returns an address on which nobody listens right now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	return address, listener.Close()
}
