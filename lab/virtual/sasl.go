package virtual

import (
	"strings"
	"sync"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

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

// Auth is how servers let clients authenticate, by SCRAM-SHA-256, PLAIN or MONGODB-OIDC.
type Auth struct {
	// Speculative is whether a hello is answered together with the first step of the conversation in it.
	Speculative bool
	// Exchange is whether SCRAM ends with an empty exchange, which clients offer to skip.
	Exchange bool
}

// authentication is what servers know of their clients. Without options, all may do everything.
type authentication struct {
	options *Auth
	server  *scram.Server

	mu            sync.Mutex
	conversations map[string]*scram.ServerConversation // by the connection
	authenticated map[string]bool
}

func newAuthentication(options *Auth) *authentication {
	a := &authentication{options: options, conversations: map[string]*scram.ServerConversation{}, authenticated: map[string]bool{}}
	if options == nil {
		return a
	}
	client, err := scram.SHA256.NewClient(User, Password, "")
	if err != nil {
		panic(err) // the name and the password are ours
	}
	stored, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "saltsalt", Iters: 4096})
	if err != nil {
		panic(err)
	}
	a.server, err = scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return stored, nil })
	if err != nil {
		panic(err)
	}
	a.server.WithNonceGenerator(func() string { return "server" })
	return a
}

// refuse returns the error of a command that needs authentication.
func (a *authentication) refuse(q *query) *failure {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.options == nil || a.authenticated[q.connection] || proxy.IsHello(q.name) || strings.HasPrefix(q.name, "sasl") {
		return nil
	}
	return servererror.Errorf(13, "Command %s requires authentication", q.name)
}

// hello returns the fields of a hello's reply.
func (a *authentication) hello(q *query) (fields bson.D) {
	if bsondoc.Has(q.doc, "saslSupportedMechs") {
		fields = append(fields, bson.E{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}})
	}
	if start := document(q.doc, "speculativeAuthenticate"); start != nil && a.options != nil && a.options.Speculative {
		if reply, failed := a.step(q, start); failed == nil {
			fields = append(fields, bson.E{Key: "speculativeAuthenticate", Value: reply})
		}
	}
	return fields
}

// step carries out a step of a conversation. A server without credentials takes every first one for the last.
func (a *authentication) step(q *query, command bson.Raw) (result, *failure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, payload, _ := command.Lookup("payload").BinaryOK()
	mechanism, starts := command.Lookup("mechanism").StringValueOK()
	valid, done, text := true, true, ""
	switch conversation := a.conversations[q.connection]; {
	case a.options == nil:
	case mechanism == "PLAIN":
		valid = string(payload) == "\x00"+User+"\x00"+Password
	case mechanism == "MONGODB-OIDC":
		token, _ := bson.Raw(payload).Lookup("jwt").StringValueOK()
		valid = strings.HasPrefix(token, Token)
	case mechanism == "SCRAM-SHA-256":
		a.conversations[q.connection] = a.server.NewConversation()
		text, valid, done = take(a.conversations[q.connection], payload)
	case starts || conversation == nil:
		valid = false
	case !conversation.Done():
		text, valid, done = take(conversation, payload)
		done = done && !a.options.Exchange
	}
	if !valid {
		return nil, servererror.Errorf(18, "Authentication failed.")
	}
	a.authenticated[q.connection] = done
	return doc("conversationId", int32(1), "done", done, "payload", bson.Binary{Data: []byte(text)}), nil
}

// take takes the client's message of a SCRAM conversation.
func take(conversation *scram.ServerConversation, message []byte) (reply string, valid, done bool) {
	reply, err := conversation.Step(string(message))
	return reply, err == nil, conversation.Done() && conversation.Valid()
}
