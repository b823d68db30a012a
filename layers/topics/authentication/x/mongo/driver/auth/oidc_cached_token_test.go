package auth

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
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
type establishing struct{ mnet.ReadWriteCloser }

// described is a connection that has the token of a generation.
type described struct {
	mnet.Describer
	generation *uint64
}

func (c described) OIDCTokenGenID() uint64              { return *c.generation }
func (c described) SetOIDCTokenGenID(generation uint64) { *c.generation = generation }

func (establishing) Close() error { return nil }

// establish returns a connection to the first server of a script.
func establish(t *testing.T, s *scripted.Script) *mnet.Connection {
	server, err := s.SelectServer(context.Background(), &serverselector.Write{})
	require.NoError(t, err)
	conn, err := server.Connection(context.Background())
	require.NoError(t, err)
	conn.ReadWriteCloser, conn.Describer = establishing{conn.ReadWriteCloser}, described{conn.Describer, new(uint64)}
	return conn
}

var oidcDone = scripted.OK(bson.E{Key: "done", Value: true}, bson.E{Key: "payload", Value: []byte{}})

// TestCachedToken is about a token that is in the cache, and what a server says to it (auth.md, "MONGODB-OIDC", "Authentication").
func TestCachedToken(t *testing.T) {
	idp := scripted.OK(bson.E{Key: "done", Value: false}, bson.E{Key: "payload", Value: marshal(t, bson.D{{Key: "issuer", Value: "x"}})})
	const cached = "cached"

	for name, tt := range map[string]struct {
		human     bool
		refresh   bool
		cancels   bool // the context ends when the server replies
		replies   []any
		callbacks int
		token     string // in the cache afterwards
		code      int32
		err       error
	}{
		"accepted":                       {replies: []any{oidcDone}, token: cached},
		"refused":                        {replies: []any{scripted.Failure(18), oidcDone}, callbacks: 1, token: "1"},
		"refused, and so is the new one": {replies: []any{scripted.Failure(18), scripted.Failure(18)}, callbacks: 1, token: "1", code: 18},
		"rejected":                       {replies: []any{scripted.Overloaded()}, token: cached, code: 462},
		"another error":                  {replies: []any{scripted.Failure(20)}, token: cached, code: 20},
		"closed":                         {replies: []any{io.EOF}, token: cached, err: io.EOF},
		"refused, the time is up":        {cancels: true, replies: []any{scripted.Failure(18)}, err: context.Canceled},
		"human, rejected":                {human: true, replies: []any{scripted.Overloaded()}, token: cached, code: 462},
		"human, refused":                 {human: true, replies: []any{scripted.Failure(18), idp, oidcDone}, callbacks: 1, token: "1"},
		"human, refused, the next step is rejected": {human: true, replies: []any{scripted.Failure(18), idp, scripted.Overloaded()},
			callbacks: 1, token: "1", code: 462},
		"human, refused, with a refresh token": {human: true, refresh: true, replies: []any{scripted.Failure(18), oidcDone}, callbacks: 1,
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
		s.OnContext = func(_ context.Context, method string) {
			if tt.cancels && method == "Connection.Read" {
				cancel()
			}
		}
		err := oa.Auth(ctx, &driver.AuthConfig{Connection: establish(t, s)})
		cancel()
		require.Empty(t, s.Replies, "%s: %v", name, err)
		assert.Contains(t, string(s.Sent[0].Command), cached, name)
		assert.Equal(t, tt.callbacks, callbacks, name)
		assert.Equal(t, tt.token, oa.accessToken, name)
		assert.Equal(t, tt.err == nil && tt.code == 0, err == nil, "%s: %v", name, err)
		assert.True(t, tt.err == nil || errors.Is(err, tt.err), "%s: %v", name, err)
		assert.True(t, tt.code == 0 || scripted.As[driver.Error](t, err).Code == tt.code, "%s: %v", name, err)
	}
}

// TestOIDCErrors is about authentications that get no token, or whose connection is lost: none of them succeeds.
func TestOIDCErrors(t *testing.T) {
	denied := errors.New("denied")
	for want, oa := range map[string]*OIDCAuthenticator{
		"no OIDC callback provided":        {},
		"must be specified for Azure OIDC": {AuthMechanismProperties: map[string]string{EnvironmentProp: AzureEnvironmentValue}},
		"denied":                           {OIDCMachineCallback: func(context.Context, *OIDCArgs) (*OIDCCredential, error) { return nil, denied }},
	} {
		cfg := &driver.AuthConfig{Connection: establish(t, scripted.New(t))}
		assert.ErrorContains(t, oa.Auth(context.Background(), cfg), want)
		assert.ErrorContains(t, oa.Reauth(context.Background(), cfg), want)
	}
	assert.ErrorContains(t, (&OIDCAuthenticator{}).Auth(context.Background(), nil), "config must be set")

	for _, done := range []bool{false, true} {
		conversation, err := (&OIDCAuthenticator{accessToken: "cached", tokenGenID: 7}).CreateSpeculativeConversation()
		require.NoError(t, err)
		_, err = conversation.FirstMessage()
		require.NoError(t, err)
		cfg := &driver.AuthConfig{Connection: establish(t, scripted.New(t, io.EOF))}
		cfg.Connection.SetOIDCTokenGenID(5)
		first := marshal(t, bson.D{{Key: "done", Value: done}, {Key: "payload", Value: []byte{}}})
		assert.Equal(t, done, conversation.Finish(context.Background(), cfg, first) == nil)
		assert.Equal(t, map[bool]uint64{true: 7, false: 5}[done], cfg.Connection.OIDCTokenGenID())
	}
	_, err := (&OIDCAuthenticator{}).CreateSpeculativeConversation()
	assert.NoError(t, err, "without a token there is none")
}

// TestTokenOfAConnection is about a connection whose token expires while the server is overloaded: it still has that token, also if nobody
// knows which one it is, so that its next Reauth tries the token that was fetched meanwhile.
func TestTokenOfAConnection(t *testing.T) {
	ctx := context.Background()
	for _, known := range []uint64{0, 1} {
		s := scripted.New(t, oidcDone, oidcDone, scripted.Overloaded(), oidcDone)
		fetched := 0
		oa := &OIDCAuthenticator{OIDCMachineCallback: func(context.Context, *OIDCArgs) (*OIDCCredential, error) {
			fetched++
			return &OIDCCredential{AccessToken: strconv.Itoa(fetched)}, nil
		}}
		first, second := establish(t, s), establish(t, s)
		require.NoError(t, oa.Auth(ctx, &driver.AuthConfig{Connection: first}))
		require.NoError(t, oa.Auth(ctx, &driver.AuthConfig{Connection: second}))
		assert.Equal(t, []uint64{1, 1}, []uint64{first.OIDCTokenGenID(), second.OIDCTokenGenID()})
		first.SetOIDCTokenGenID(known)
		require.Error(t, oa.Reauth(ctx, &driver.AuthConfig{Connection: first}))
		assert.Equal(t, uint64(1), first.OIDCTokenGenID())
		require.NoError(t, oa.Reauth(ctx, &driver.AuthConfig{Connection: first}))
		assert.Equal(t, []int{2, 2}, []int{fetched, int(first.OIDCTokenGenID())})
	}
}

// TestTokenFetchedMeanwhile is about a token that another connection has put into the cache since this one has looked, and about none.
func TestTokenFetchedMeanwhile(t *testing.T) {
	conn := establish(t, scripted.New(t))
	conn.SetOIDCTokenGenID(5)
	none := func(context.Context, *OIDCArgs) (*OIDCCredential, error) { return nil, errors.New("denied") }
	for cached, generation := range map[string]uint64{"": 5, "cached": 7} {
		token, err := (&OIDCAuthenticator{accessToken: cached, tokenGenID: 7}).getAccessToken(context.Background(), conn, &OIDCArgs{}, none)
		assert.Equal(t, cached == "", err != nil, cached)
		assert.Equal(t, cached, token)
		assert.Equal(t, generation, conn.OIDCTokenGenID(), cached)
		conn.SetOIDCTokenGenID(5)
	}
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
