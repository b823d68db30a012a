package auth

import (
	"context"
	"errors"
	"io"
	"regexp"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// establishing is a connection that is being established: the commands that authenticate it do not close it.
type establishing struct {
	mnet.ReadWriteCloser
	replied func()
}

func (establishing) Close() error { return nil }

func (c establishing) Read(ctx context.Context) ([]byte, error) {
	defer c.replied()
	return c.ReadWriteCloser.Read(ctx)
}

// establish returns a connection to the first server of a script, which calls a function after each reply.
func establish(t *testing.T, s *scripted.Script, replied func()) *mnet.Connection {
	server, err := s.SelectServer(context.Background(), &serverselector.Write{})
	require.NoError(t, err)
	conn, err := server.Connection(context.Background())
	require.NoError(t, err)
	conn.ReadWriteCloser = establishing{conn.ReadWriteCloser, replied}
	return conn
}

// TestCachedToken is about a token that is in the cache, and what a server says to it (auth.md, "MONGODB-OIDC", "Authentication").
func TestCachedToken(t *testing.T) {
	done := scripted.OK(bson.E{Key: "done", Value: true}, bson.E{Key: "payload", Value: []byte{}})
	idp := scripted.OK(bson.E{Key: "done", Value: false}, bson.E{Key: "payload", Value: marshal(t, bson.D{{Key: "issuer", Value: "x"}})})
	const cached = "cached"

	for name, tt := range map[string]struct {
		human     bool
		refresh   bool
		cancels   bool // the context ends when the server has replied
		replies   []any
		callbacks int
		token     string // in the cache afterwards
		code      int32
		err       error
	}{
		"accepted":                       {replies: []any{done}, token: cached},
		"refused":                        {replies: []any{scripted.Failure(18), done}, callbacks: 1, token: "1"},
		"refused, and so is the new one": {replies: []any{scripted.Failure(18), scripted.Failure(18)}, callbacks: 1, token: "1", code: 18},
		"rejected":                       {replies: []any{scripted.Overloaded()}, token: cached, code: 462},
		"another error":                  {replies: []any{scripted.Failure(20)}, token: cached, code: 20},
		"closed":                         {replies: []any{io.EOF}, token: cached, err: io.EOF},
		"refused, the time is up":        {cancels: true, replies: []any{scripted.Failure(18)}, err: context.Canceled},
		"human, rejected":                {human: true, replies: []any{scripted.Overloaded()}, token: cached, code: 462},
		"human, refused":                 {human: true, replies: []any{scripted.Failure(18), idp, done}, callbacks: 1, token: "1"},
		"human, refused, the next step is rejected": {human: true, replies: []any{scripted.Failure(18), idp, scripted.Overloaded()},
			callbacks: 1, token: "1", code: 462},
		"human, refused, with a refresh token": {human: true, refresh: true, replies: []any{scripted.Failure(18), done}, callbacks: 1,
			token: "1"},
		"human, with a refresh token, the new one is rejected": {human: true, refresh: true,
			replies: []any{scripted.Failure(18), scripted.Overloaded()}, callbacks: 1, token: "1", code: 462},
	} {
		s := scripted.New(t, tt.replies...)
		callbacks := 0
		callback := func(ctx context.Context, args *OIDCArgs) (*OIDCCredential, error) {
			callbacks++
			assert.NoError(t, ctx.Err(), name)
			assert.Equal(t, tt.refresh, args.RefreshToken != nil, name)
			return &OIDCCredential{AccessToken: "1", RefreshToken: args.RefreshToken}, nil
		}
		oa := &OIDCAuthenticator{accessToken: cached, allowedHosts: &[]*regexp.Regexp{regexp.MustCompile(".")}}
		if tt.human {
			oa.OIDCHumanCallback = callback
		} else {
			oa.OIDCMachineCallback = callback
		}
		if tt.refresh {
			token := "refresh"
			oa.refreshToken, oa.idpInfo = &token, &IDPInfo{}
		}
		ctx, cancel := context.WithCancel(context.Background())
		conn := establish(t, s, func() {
			if tt.cancels {
				cancel()
			}
		})
		err := oa.Auth(ctx, &driver.AuthConfig{Connection: conn})
		cancel()
		require.Empty(t, s.Replies, "%s: %v", name, err)

		assert.Equal(t, tt.callbacks, callbacks, name)
		assert.Equal(t, tt.token, oa.accessToken, name)
		var serverErr driver.Error
		switch {
		case tt.err != nil:
			assert.True(t, errors.Is(err, tt.err), "%s: %v", name, err)
		case tt.code != 0:
			require.True(t, errors.As(err, &serverErr), "%s: %v", name, err)
			assert.Equal(t, tt.code, serverErr.Code, name)
		default:
			assert.NoError(t, err, name)
		}
	}
}

// TestOIDCErrors is about authentications that get no token, or whose connection is lost: none of them succeeds.
func TestOIDCErrors(t *testing.T) {
	denied := errors.New("denied")
	for want, oa := range map[string]*OIDCAuthenticator{
		"no OIDC callback provided": {},
		"must be specified for Azure OIDC": {
			AuthMechanismProperties: map[string]string{EnvironmentProp: AzureEnvironmentValue},
		},
		"denied": {OIDCMachineCallback: func(context.Context, *OIDCArgs) (*OIDCCredential, error) { return nil, denied }},
	} {
		cfg := &driver.AuthConfig{Connection: establish(t, scripted.New(t), func() {})}
		assert.ErrorContains(t, oa.Auth(context.Background(), cfg), want)
		assert.ErrorContains(t, oa.Reauth(context.Background(), cfg), want)
	}
	assert.ErrorContains(t, (&OIDCAuthenticator{}).Auth(context.Background(), nil), "config must be set")

	conversation, err := (&OIDCAuthenticator{accessToken: "cached"}).CreateSpeculativeConversation()
	require.NoError(t, err)
	_, err = conversation.FirstMessage()
	require.NoError(t, err)
	cfg := &driver.AuthConfig{Connection: establish(t, scripted.New(t, io.EOF), func() {})}
	unfinished := marshal(t, bson.D{{Key: "done", Value: false}, {Key: "payload", Value: []byte{}}})
	assert.Error(t, conversation.Finish(context.Background(), cfg, unfinished))
}

// TestForget is about a token that another connection has replaced meanwhile.
func TestForget(t *testing.T) {
	oa := &OIDCAuthenticator{accessToken: "new"}
	oa.forget("old")
	assert.Equal(t, "new", oa.accessToken)
	oa.forget("new")
	assert.Equal(t, "", oa.accessToken)
}

func marshal(t *testing.T, doc bson.D) []byte {
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	return raw
}
