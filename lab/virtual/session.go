package virtual

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

// session is a logical session: its latest transaction, or its latest retryable write with the reply to it.
type session struct {
	number int64
	host   string // that began the transaction
	state  state
	undo   []func() // reverts the transaction's writes, the last one first
	write  result   // of a retryable write that was executed
}

type state int

const (
	none state = iota
	inProgress
	committed
	aborted
)

// inSession runs a command by the rules for transactions and retryable writes: a write that is sent again is not executed again.
func (s *store) inSession(q *query) (result, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	needless := s.opts.Auth == nil || proxy.IsHello(q.Command) || strings.HasPrefix(q.Command, "sasl")
	if !needless && !s.authenticated[q.Client] {
		return nil, servererror.Errorf(13, "Command %s requires authentication", q.Command)
	}
	if q.Number == nil {
		return s.execute(q)
	}
	number, key := *q.Number, string(q.Session)
	current := s.sessions[key]
	if current == nil {
		current = &session{number: -1}
		s.sessions[key] = current
	}
	if number < current.number {
		return nil, servererror.Errorf(225, "transaction %d is older than the session's latest, %d", number, current.number)
	}
	if q.Autocommit != nil {
		return s.inTransaction(q, current, number)
	}
	if number == current.number && current.write != nil {
		return slices.Clone(current.write), nil
	}
	current.abort()
	*current = session{number: number}
	reply, failed := s.execute(q)
	if failed == nil {
		current.write = slices.Clone(reply)
	}
	return reply, failed
}

// inTransaction runs a command of a transaction of several commands. The store is locked.
func (s *store) inTransaction(q *query, current *session, number int64) (result, *failure) {
	if q.StartTransaction {
		if number == current.number && current.state != none {
			return nil, servererror.Errorf(117, "transaction %d has already been started", number)
		}
		current.abort()
		*current = session{number: number, host: q.host, state: inProgress}
	}
	ends := strings.HasSuffix(q.Command, "Transaction") // at any router, with a recovery token
	if number > current.number && q.Command != "abortTransaction" || q.host != current.host && s.spec.Routes() && !ends {
		s.unstarted++
	}
	if number != current.number || current.state == none || current.state == aborted {
		return nil, servererror.Errorf(servererror.CodeNoSuchTransaction, "no such transaction is in progress")
	}
	switch {
	case q.Command == "commitTransaction":
		current.state, current.undo = committed, nil
		return nil, nil
	case current.state == committed:
		return nil, servererror.Errorf(256, "transaction %d has been committed", number)
	case q.Command == "abortTransaction":
		current.abort()
		return nil, nil
	}
	q.transaction = current
	reply, failed := s.execute(q)
	if failed != nil {
		current.abort()
	}
	return reply, failed
}

// abort ends the transaction that is in progress, if there is one. The store is locked.
func (t *session) abort() {
	if t.state != inProgress {
		return
	}
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.state, t.undo = aborted, nil
}

func (s *store) endSessions(q *query) (result, *failure) {
	for _, ended := range q.EndSessions {
		if current := s.sessions[string(ended)]; current != nil {
			current.abort()
		}
	}
	return nil, nil
}

// Transactions returns how many have neither been committed nor aborted, and how many commands were of one that had not been started there.
func (s *store) Transactions() (open, unstarted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		if session.state == inProgress {
			open++
		}
	}
	return open, s.unstarted
}

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
