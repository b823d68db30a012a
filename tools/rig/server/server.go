// Package server gives tests and demonstrations a real MongoDB server: the one that MONGODB_URI names, a mongod from the
// PATH, the mongod of a pinned wheel, or SecantusDB in a private virtual environment.
package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"mongofork/tools/rig/mongod"
)

// ErrUnavailable means that no server is available on this machine. The text of an error that wraps it is one line: what is
// missing and what to do about it. A server that was found but does not work is another error.
var ErrUnavailable = errors.New("no MongoDB server is available")

// Origin says where a server came from.
type Origin int

// The origins of a server, in the order of the search.
const (
	// Given is the server that MONGODB_URI names.
	Given Origin = iota + 1
	// Mongod is a mongod from the PATH.
	Mongod
	// Wheel is the mongod in the pinned wheel from PyPI.
	Wheel
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
	case Wheel:
		return "mongod from PyPI"
	case SecantusDB:
		return "SecantusDB from PyPI"
	default:
		return fmt.Sprintf("Origin(%d)", int(o))
	}
}

// Config configures Open. Only Root is required.
type Config struct {
	// Root is the root of the repository: the pins are read from etc/server, the virtual environment is kept in build/server.
	Root string
	// Getenv looks up an environment variable. The default is os.Getenv.
	Getenv func(string) string
	// LookPath finds an executable. The default is exec.LookPath.
	LookPath func(string) (string, error)
	// TempDir is the parent of a started server's private directory. The default is the system's.
	TempDir string
	// Progress receives a line for every step that takes a while. The default is to say nothing.
	Progress io.Writer
	// Choice is the name of the only server to search for: uri, path, mongod or secantus. The default is the value of SERVER or,
	// without one, the first available server.
	Choice string
	// Limitable makes Open start a mongod from the PATH so that its ingress limiters can be enabled and drivers can cope with
	// them: it requires authentication, and the URI has a user with all rights. Other servers are unchanged.
	Limitable bool
	// BehindLab is whether the lab will be in front of the server: a replica set of one member is started, and MONGODB_URI has to
	// name one host and no credentials.
	BehindLab bool
	// Platform is the system and the processor, such as linux/amd64. The default is this program's.
	Platform string
	// Ports are the ports of a started standalone or replica set. The default is to find free ones.
	Ports []int
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
	if c.Choice == "" {
		c.Choice = c.Getenv("SERVER")
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
	// Form is what was started; of a server that was given it says nothing.
	Form Form
	// Files are those of a standalone or a replica set of mongods.
	Files mongod.Files

	// parts are what was started for it, in that order.
	parts []part
}

// part is something that was started and has to be stopped.
type part interface {
	close() error
	// done is closed when it has ended by itself.
	done() <-chan struct{}
	logTail() string
}

// Done is closed when a server that was started here has ended; of a deployment, the part that was started last. For a
// server that was given it is nil, which blocks forever.
func (s *Server) Done() <-chan struct{} {
	if len(s.parts) == 0 {
		return nil
	}
	return s.parts[len(s.parts)-1].done()
}

// Log returns the last lines that a started server wrote, for an error message. It is empty for a server that was given.
func (s *Server) Log() string {
	if len(s.parts) == 0 {
		return ""
	}
	return s.parts[len(s.parts)-1].logTail()
}

// Close stops the server and removes its files if it was started here, and leaves it alone otherwise.
func (s *Server) Close() error { return closeAll(s.parts) }

// closeAll closes parts, those that were started last first: a router before the shard that it needs.
func closeAll(parts []part) error {
	var errs []error
	for _, p := range slices.Backward(parts) {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}
