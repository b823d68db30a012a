package auth

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// Auth authenticates a connection with the cached token. If there is none, or the server refuses it, it does so with a new token of the
// callback. All other errors say nothing about the token, which stays (auth.md, "MONGODB-OIDC", "Authentication"): an overloaded server
// may reject saslStart or close the connection, and the identity provider must not be asked for a token each time.
//
//fork:replace only an authentication error makes a token invalid, not an overload; the wait before the callback ends with the context
func (oa *OIDCAuthenticator) Auth(ctx context.Context, cfg *driver.AuthConfig) error {
	if cfg == nil {
		return newAuthError(fmt.Sprintf("config must be set for %q authentication", MongoDBOIDC), nil)
	}
	oa.mu.Lock()
	token, refreshToken, idpInfo := oa.accessToken, oa.refreshToken, oa.idpInfo
	oa.mu.Unlock()

	if token != "" {
		err := ConductSaslConversation(ctx, cfg, sourceExternal, &oidcOneStep{userName: oa.userName, accessToken: token})
		if !refusesToken(err) {
			return err
		}
		oa.forget(token)
		if err := (backpressure.SystemClock{}).Sleep(ctx, nil, nil, invalidateSleepTimeout); err != nil {
			return newAuthError("no time to ask for a new token", err)
		}
	}
	if oa.OIDCHumanCallback != nil {
		return oa.doAuthHuman(ctx, cfg, oa.OIDCHumanCallback, idpInfo, refreshToken)
	}
	callback := oa.OIDCMachineCallback
	if callback == nil {
		var err error
		if callback, err = oa.providerCallback(); err != nil {
			return fmt.Errorf("error getting built-in OIDC provider: %w", err)
		}
	}
	if callback == nil {
		return newAuthError("no OIDC callback provided", nil)
	}
	return oa.doAuthMachine(ctx, cfg, callback)
}

// refusesToken reports whether a server refused to authenticate the client.
func refusesToken(err error) bool {
	const authenticationFailed = 18
	var refusal driver.Error
	return errors.As(err, &refusal) && refusal.Code == authenticationFailed
}

// forget removes a token from the cache, unless another one is there by now.
func (oa *OIDCAuthenticator) forget(token string) {
	oa.mu.Lock()
	defer oa.mu.Unlock()
	if oa.accessToken == token {
		oa.accessToken = ""
	}
}
