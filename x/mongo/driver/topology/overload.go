package topology

import (
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// Config holds the client's overload policy: one per configuration, as there is one configuration per client.
//
//fork:extend the overload policy belongs to the client, and each client has one topology
type Config struct {
	overload *backpressure.Policy
}

// serverConfig holds the overload policy of the server's client.
//
//fork:extend cursors know only the server and have to find the client's policy there
type serverConfig struct {
	overload *backpressure.Policy
}

// The configuration has the client's overload policy, for the topology and for its servers.
//
//fork:wrap both the client and NewConfig use it
func NewAuthenticatorConfig(authenticator driver.Authenticator, clientOpts ...AuthConfigOption) (*Config, error) {
	cfg, err := upstreamNewAuthenticatorConfig(authenticator, clientOpts...)
	if err != nil {
		return cfg, err
	}
	settings := authConfigOptions{}
	for _, apply := range clientOpts {
		apply(&settings)
	}
	cfg.overload = newOverloadPolicy(settings.opts)
	cfg.overload.Monitor, cfg.overload.Logger = settings.opts.RetryMonitor, cfg.logger
	cfg.ServerOpts = append(cfg.ServerOpts, func(server *serverConfig) { server.overload = cfg.overload })
	return cfg, err
}

// newOverloadPolicy makes the overload policy of a client with these options.
func newOverloadPolicy(opts *options.ClientOptions) *backpressure.Policy {
	overload := configuredPolicy(opts)
	overload.RetryReads = opts.RetryReads == nil || *opts.RetryReads
	overload.RetryWrites = opts.RetryWrites == nil || *opts.RetryWrites
	if opts.AdaptiveRetries != nil && *opts.AdaptiveRetries {
		overload.Bucket = retry.NewTokenBucket()
	}
	if opts.AdaptiveThrottling != nil && *opts.AdaptiveThrottling {
		rule := retry.DefaultThrottling()
		overload.Throttling = &rule
	}
	return overload
}

// OverloadPolicy implements the backpressure.PolicyHolder interface.
func (t *Topology) OverloadPolicy() *backpressure.Policy { return t.cfg.overload }

// OverloadPolicy implements the backpressure.PolicyHolder interface.
func (s *Server) OverloadPolicy() *backpressure.Policy { return s.cfg.overload }
