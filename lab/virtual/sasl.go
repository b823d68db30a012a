package virtual

import (
	"strings"
	"sync"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

// What clients authenticate with: a name and a password, or a token.
const (
	User     = "user"
	Password = "secret"
	Token    = "token"
)

// Auth is how servers let clients authenticate, by SCRAM-SHA-256, PLAIN or MONGODB-OIDC.
type Auth struct {
	// Speculative is whether a hello is answered together with the first step of the conversation in it.
	Speculative bool
	// Exchange is whether SCRAM ends with an empty exchange, which clients offer to skip.
	Exchange bool
}

// credentials are the user's, by SCRAM-SHA-256.
var credentials = sync.OnceValues(func() (scram.StoredCredentials, error) {
	client, err := scram.SHA256.NewClient(User, Password, "")
	if err != nil {
		return scram.StoredCredentials{}, err
	}
	return client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "saltsalt", Iters: 4096})
})

// refuse returns the error of a command that needs authentication. The store is locked.
func (s *store) refuse(q *query) *failure {
	if s.auth == nil || s.authenticated[q.connection] || proxy.IsHello(q.name) || strings.HasPrefix(q.name, "sasl") {
		return nil
	}
	return servererror.Errorf(13, "Command %s requires authentication", q.name)
}

// greet returns the fields of a hello's reply.
func (s *store) greet(q *query) (fields bson.D) {
	if q.Mechanisms != "" {
		fields = append(fields, bson.E{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}})
	}
	if q.Speculative != nil && s.auth != nil && s.auth.Speculative {
		if reply, failed := s.step(q.connection, *q.Speculative); failed == nil {
			fields = append(fields, bson.E{Key: "speculativeAuthenticate", Value: reply})
		}
	}
	return fields
}

// conversation is a step of one, in a command or in a hello.
type conversation struct {
	Mechanism string
	Payload   bson.Binary
}

func (s *store) authenticate(q *query) (result, *failure) {
	if s.auth == nil {
		return nil, servererror.Errorf(servererror.CodeCommandNotFound, "nobody has to authenticate")
	}
	return s.step(q.connection, q.Step)
}

// step carries out a step of a conversation.
func (s *store) step(connection string, c conversation) (result, *failure) {
	valid, done, text := false, true, ""
	switch c.Mechanism {
	case "PLAIN":
		valid = string(c.Payload.Data) == "\x00"+User+"\x00"+Password
	case "MONGODB-OIDC":
		token, _ := bson.Raw(c.Payload.Data).Lookup("jwt").StringValueOK()
		valid = strings.HasPrefix(token, Token)
	case "SCRAM-SHA-256":
		server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return credentials() })
		if err != nil {
			break
		}
		server.WithNonceGenerator(func() string { return "server" })
		s.conversations[connection] = server.NewConversation()
		text, valid, done = take(s.conversations[connection], c.Payload.Data)
	case "":
		begun := s.conversations[connection]
		switch {
		case begun == nil:
		case begun.Done():
			valid = begun.Valid()
		default:
			text, valid, done = take(begun, c.Payload.Data)
			done = done && !s.auth.Exchange
		}
	}
	if !valid {
		return nil, servererror.Errorf(18, "Authentication failed.")
	}
	s.authenticated[connection] = done
	return doc("conversationId", int32(1), "done", done, "payload", bson.Binary{Data: []byte(text)}), nil
}

// take takes the client's message of a SCRAM conversation.
func take(conversation *scram.ServerConversation, message []byte) (reply string, valid, done bool) {
	reply, err := conversation.Step(string(message))
	return reply, err == nil, conversation.Done() && conversation.Valid()
}
