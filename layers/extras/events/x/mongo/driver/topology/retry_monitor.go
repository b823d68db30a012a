package topology

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// The policy of the client has its monitor, and its logger.
//
//fork:wrap both the client and NewConfig use it
func NewAuthenticatorConfig(authenticator driver.Authenticator, clientOpts ...AuthConfigOption) (*Config, error) {
	cfg, retErr := upstreamNewAuthenticatorConfig(authenticator, clientOpts...)
	if retErr == nil {
		cfg.overload.Monitor, cfg.overload.Logger = optionsOf(clientOpts).RetryMonitor, cfg.logger
	}
	return cfg, retErr
}
