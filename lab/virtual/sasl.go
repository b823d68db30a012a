package virtual

import (
	"context"
	"strings"
	"sync"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

// What clients authenticate with: a name and a password, or a token.
const (
	User     = "user"
	Password = "secret"
	Token    = "token"
)

// Credential returns what clients authenticate with, by a mechanism; if it is empty, that is the one that the server offers.
func Credential(mechanism string) options.Credential {
	if mechanism == "MONGODB-OIDC" {
		return options.Credential{AuthMechanism: mechanism,
			OIDCMachineCallback: func(context.Context, *options.OIDCArgs) (*options.OIDCCredential, error) {
				return &options.OIDCCredential{AccessToken: Token}, nil
			}}
	}
	return options.Credential{AuthMechanism: mechanism, Username: User, Password: Password}
}

// Auth is how servers let clients authenticate, by SCRAM-SHA-256, PLAIN or MONGODB-OIDC.
type Auth struct {
	// Speculative is whether a hello is answered together with the first step of the conversation in it.
	Speculative bool
	// Exchange is whether SCRAM ends with an empty exchange, which clients offer to skip.
	Exchange bool
}

// scramServer knows the user's credentials, by SCRAM-SHA-256.
var scramServer = sync.OnceValue(func() *scram.Server {
	client, err := scram.SHA256.NewClient(User, Password, "")
	if err != nil {
		panic(err)
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) {
		return client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "saltsalt", Iters: 4096}) // which it keeps
	})
	if err != nil {
		panic(err)
	}
	return server.WithNonceGenerator(func() string { return "server" })
})

// conversation is a step of one, in a command or in a hello.
type conversation struct {
	Mechanism string
	Payload   bson.Binary
}

func (s *store) authenticate(q *query) (result, *failure) { return s.step(q.Client, q.Step) }

// step carries out a step of a conversation.
func (s *store) step(client *proxy.Client, c conversation) (result, *failure) {
	if c.Mechanism == "SCRAM-SHA-256" {
		s.conversations[client] = scramServer().NewConversation()
	}
	valid, done, text := false, true, ""
	switch begun := s.conversations[client]; {
	case c.Mechanism == "PLAIN":
		valid = string(c.Payload.Data) == "\x00"+User+"\x00"+Password
	case c.Mechanism == "MONGODB-OIDC" || begun == nil:
		token, sent := bson.Raw(c.Payload.Data).Lookup("jwt").StringValueOK()
		valid, done = strings.HasPrefix(token, Token) || !sent, sent
		if !sent { // a human's client asks first who gives tokens
			text = string(bsondoc.Marshal(bsondoc.D("issuer", "https://issuer.example", "clientId", "client")))
		}
	case begun.Done():
		valid = begun.Valid()
	default:
		reply, err := begun.Step(string(c.Payload.Data))
		text, valid, done = reply, err == nil, begun.Done() && begun.Valid() && !s.opts.Auth.Exchange
	}
	if !valid {
		return nil, servererror.Errorf(18, "Authentication failed.")
	}
	s.authenticated[client] = done
	return bsondoc.D("conversationId", int32(1), "done", done, "payload", bson.Binary{Data: []byte(text)}), nil
}
