package topology

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
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
	cfg, retErr := upstreamNewAuthenticatorConfig(authenticator, clientOpts...)
	if retErr != nil {
		return cfg, retErr
	}
	cfg.overload = newOverloadPolicy(optionsOf(clientOpts))
	cfg.ServerOpts = append(cfg.ServerOpts, func(server *serverConfig) { server.overload = cfg.overload })
	return cfg, retErr
}

// optionsOf returns the options of the client for which a configuration is made.
func optionsOf(clientOpts []AuthConfigOption) *options.ClientOptions {
	settings := authConfigOptions{}
	for _, apply := range clientOpts {
		apply(&settings)
	}
	return settings.opts
}

// newOverloadPolicy makes the overload policy of a client with these options.
func newOverloadPolicy(opts *options.ClientOptions) *backpressure.Policy {
	overload := configuredPolicy(opts)
	overload.RetryReads = opts.RetryReads == nil || *opts.RetryReads
	overload.RetryWrites = opts.RetryWrites == nil || *opts.RetryWrites
	if opts.AdaptiveRetries != nil && *opts.AdaptiveRetries {
		overload.Bucket = retry.NewTokenBucket()
	}
	return overload
}

// policyCarrier carries the client's overload policy.
type policyCarrier = backpressure.Carrier

// Topology carries the client's overload policy.
//
//fork:extend the overload policy belongs to the client, and each client has one topology
type Topology struct {
	policyCarrier
}

// New gives the topology the policy of the configuration.
//
//fork:extend operations ask the topology for the policy
func New(cfg *Config) (*Topology, error) {
	return &Topology{policyCarrier: backpressure.Carry(&cfg.overload)}, nil
}

// Server carries the client's overload policy.
//
//fork:extend cursors ask the server for the policy
type Server struct {
	policyCarrier
}

// NewServer gives the server the policy of its client.
//
//fork:wrap cursors ask the server for the policy
func NewServer(addr address.Address, topologyID bson.ObjectID, connectTimeout time.Duration, opts ...ServerOption) *Server {
	retS := upstreamNewServer(addr, topologyID, connectTimeout, opts...)
	retS.policyCarrier = backpressure.Carry(&retS.cfg.overload)
	return retS
}
