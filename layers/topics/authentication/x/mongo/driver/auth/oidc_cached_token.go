package auth

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
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
	token, generation, refreshToken, idpInfo := oa.accessToken, oa.tokenGenID, oa.refreshToken, oa.idpInfo
	oa.mu.Unlock()

	if token != "" {
		err := ConductSaslConversation(ctx, cfg, sourceExternal, &oidcOneStep{userName: oa.userName, accessToken: token})
		if err == nil {
			cfg.Connection.SetOIDCTokenGenID(generation)
		}
		if !refusesToken(err) { // nil included
			return err
		}
		oa.forget(token)
		if err := (backpressure.SystemClock{}).Sleep(ctx, nil, nil, invalidateSleepTimeout); err != nil { // 100 ms, says auth.md
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

// getAccessToken returns a token from the cache or the callback, which the connection has from then on.
//
//fork:wrap the failure of a connection that did not know its token discarded the cached one, even if that was newer
func (oa *OIDCAuthenticator) getAccessToken(
	ctx context.Context, conn *mnet.Connection, args *OIDCArgs, callback OIDCCallback,
) (string, error) {
	token, err := oa.upstreamGetAccessToken(ctx, conn, args, callback)
	oa.mu.Lock()
	defer oa.mu.Unlock()
	if err == nil && oa.accessToken == token {
		conn.SetOIDCTokenGenID(oa.tokenGenID)
	}
	return token, err
}

// CreateSpeculativeConversation returns a conversation with the cached token, which a connection has once Finish succeeds, or nil without
// one.
//
//fork:replace for the reason of getAccessToken
func (oa *OIDCAuthenticator) CreateSpeculativeConversation() (SpeculativeConversation, error) {
	oa.mu.Lock()
	token, generation := oa.accessToken, oa.tokenGenID // another connection may fetch a token at any time
	oa.mu.Unlock()
	if token == "" {
		return nil, nil
	}
	return withGeneration{newSaslConversation(&oidcOneStep{accessToken: token}, sourceExternal, true), generation}, nil
}

// withGeneration is a speculative conversation that tells the connection the number of its token.
type withGeneration struct {
	SpeculativeConversation
	generation uint64
}

func (c withGeneration) Finish(ctx context.Context, cfg *driver.AuthConfig, first bsoncore.Document) error {
	err := c.SpeculativeConversation.Finish(ctx, cfg, first)
	if err == nil {
		cfg.Connection.SetOIDCTokenGenID(c.generation)
	}
	return err
}

// Reauth authenticates a connection whose token has expired, with a new token. If that fails, the connection still has the expired one: it
// is not counted among those with the new token, so that the next Reauth uses the new token, which an overloaded server has not looked at
// (auth.md, "MONGODB-OIDC", "Reauthentication").
//
//fork:replace a rejected reauthentication, repeated with the command, asked the identity provider for another token each time
func (oa *OIDCAuthenticator) Reauth(ctx context.Context, cfg *driver.AuthConfig) error {
	expired := cfg.Connection.OIDCTokenGenID()
	if expired == 0 { // nobody knows which one it has, but it is none that comes later
		oa.mu.Lock()
		expired = oa.tokenGenID
		oa.mu.Unlock()
	}
	oa.invalidateAccessToken(cfg.Connection)
	err := oa.Auth(ctx, cfg)
	if err != nil {
		cfg.Connection.SetOIDCTokenGenID(expired)
	}
	return err
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
