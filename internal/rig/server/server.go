// Package server gives tests and demonstrations a real MongoDB server: the one that MONGODB_URI names, a mongod from the
// PATH, or SecantusDB in a private virtual environment.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// ErrUnavailable says that no server can be had on this machine. The text of an error that wraps it is one line: what is
// missing and what to do about it. A server that was found but does not work is another error.
var ErrUnavailable = errors.New("no MongoDB server to be had")

// Origin says where a server came from.
type Origin int

// The places a server is looked for, in this order.
const (
	// Given is the server that MONGODB_URI names.
	Given Origin = iota + 1
	// Mongod is a mongod from the PATH, started as a replica set of one.
	Mongod
	// SecantusDB is the pinned SecantusDB from PyPI, started as a replica set of one.
	SecantusDB
)

// String returns the origin in words that fit after "server from".
func (o Origin) String() string {
	switch o {
	case Given:
		return "MONGODB_URI"
	case Mongod:
		return "mongod on the PATH"
	case SecantusDB:
		return "SecantusDB from PyPI"
	default:
		return fmt.Sprintf("Origin(%d)", int(o))
	}
}

// Config holds what Open needs of its surroundings. Only Root is required.
type Config struct {
	// Root is the root of the repository: the pins are read from etc/server below it, the virtual environment is kept in
	// build/server below it.
	Root string
	// Getenv looks up an environment variable. The default is os.Getenv.
	Getenv func(string) string
	// LookPath finds an executable. The default is exec.LookPath.
	LookPath func(string) (string, error)
	// TempDir is where the private directory of a started server goes. The default is the system's.
	TempDir string
	// Progress gets a line for every step that takes a while. The default is to say nothing.
	Progress io.Writer
	// Limitable makes Open start a mongod so that its ingress limiters can be switched on and drivers get along with them:
	// it demands authentication, and the URI has a user with all rights. Other servers are as they are.
	Limitable bool
	// BehindLab says that the lab will stand before the server, so that MONGODB_URI has to name one host and no credentials.
	BehindLab bool
	// Platform is the system and the processor, such as linux/amd64. The default is this program's.
	Platform string
	// StartTimeout limits how long a server may take to answer. The default is one minute.
	StartTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.LookPath == nil {
		c.LookPath = exec.LookPath
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	if c.Platform == "" {
		c.Platform = thisPlatform()
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = time.Minute
	}
	return c
}

func (c Config) progressf(format string, args ...any) {
	fmt.Fprintf(c.Progress, format+"\n", args...)
}

// Server is a server that answers as a writable primary.
type Server struct {
	// URI connects to the server, its replica set name included.
	URI string
	// Version is what the server says it is, such as 8.2.11.
	Version string
	// Origin says where the server came from.
	Origin Origin

	// children are the processes of a server that this process started, in the order in which they were started.
	children []*child
}

// Open finds or starts a server and returns when it answers as a writable primary. The caller must Close it. The error
// wraps ErrUnavailable when there is no server, and nothing to start one with.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if uri := cfg.Getenv("MONGODB_URI"); uri != "" {
		return openGiven(ctx, cfg, uri)
	}

	mongod, version, noMongod := findMongod(ctx, cfg)
	if noMongod == nil {
		return startMongod(ctx, cfg, mongod, version)
	}
	cfg.progressf("%v; trying SecantusDB", noMongod)

	env, noSecantus := ensureVenv(ctx, cfg)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if noSecantus != nil {
		// Not wrapped: a command's exit code in there is not ours.
		return nil, fmt.Errorf("%w: %v; %v: install mongod >= %s or Python %s, or set MONGODB_URI",
			ErrUnavailable, noMongod, noSecantus, oldestMongod, pythonRange)
	}
	return startSecantus(ctx, cfg, env)
}

// Done is closed when a server that was started here has ended; of a deployment, the process that was started last. For a
// server that was given it is nil, which blocks forever.
func (s *Server) Done() <-chan struct{} {
	if len(s.children) == 0 {
		return nil
	}
	return s.children[len(s.children)-1].exited
}

// Log returns the last lines that a started server wrote, for an error message. It is empty for a server that was given.
func (s *Server) Log() string {
	if len(s.children) == 0 {
		return ""
	}
	return s.children[len(s.children)-1].logTail()
}

// Close stops the server and removes its files if it was started here, and leaves it alone otherwise.
func (s *Server) Close() error {
	return closeAll(s.children)
}

// closeAll closes processes, those that were started last first: a router before the shard that it needs.
func closeAll(children []*child) error {
	var errs []error
	for _, c := range slices.Backward(children) {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
