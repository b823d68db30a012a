package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// launch is how to start a server of one kind.
type launch struct {
	origin     Origin
	replicaSet string
	// user is who clients are to be; nil where nobody has to authenticate.
	user *url.Userinfo
	// command makes the command that listens on a port of 127.0.0.1 and keeps
	// all its files in dir.
	command func(dir, port string) (command, error)
	// initiate makes the started server a replica set, where it is not one by
	// itself.
	initiate func(ctx context.Context, address string) error
}

// start starts a server in a fresh private directory and waits until it answers
// as a primary.
func start(ctx context.Context, cfg Config, l launch) (*Server, error) {
	c, address, err := startListener(cfg, l.command)
	if err != nil {
		return nil, fmt.Errorf("start %v: %w", l.origin, err)
	}
	uri := replicaSetURI(l.replicaSet, address)
	if l.user != nil {
		uri = strings.Replace(uri, "://", "://"+l.user.String()+"@", 1)
	}
	version, err := l.settle(ctx, cfg, c, address, uri)
	if err != nil {
		// A stopped child has written all that it has to say.
		err = errors.Join(err, c.stop())
		err = fmt.Errorf("%v, started as %s: %w; the end of its log:\n%s", l.origin, c.cmd.Path, err, c.logTail())
		return nil, errors.Join(err, c.close())
	}
	cfg.progressf("%v: version %s listens on %s", l.origin, version, address)
	return &Server{URI: uri, Version: version, Origin: l.origin, children: []*child{c}}, nil
}

// startListener starts a command that is to listen on a port of 127.0.0.1 and
// that keeps all its files in a private directory. It returns its address.
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

func replicaSetURI(name string, addresses ...string) string {
	return "mongodb://" + strings.Join(addresses, ",") + "/?replicaSet=" + name
}

// settle waits until a started server is a primary, has ended, or has taken too
// long. It returns the server's version.
func (l launch) settle(ctx context.Context, cfg Config, c *child, address, uri string) (_ string, err error) {
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
	defer func() {
		// The driver can only tell that it found nobody, the cause tells why.
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()

	if l.initiate != nil {
		if err := l.initiate(ctx, address); err != nil {
			return "", err
		}
	}
	return awaitPrimary(ctx, cfg.StartTimeout, uri)
}

// freeAddress returns an address that nobody listens on right now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	return address, listener.Close()
}
