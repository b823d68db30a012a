package server

import (
	"sync"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// logins authenticate the one user of a fake server, who has to be created before. They don't keep others out.
type logins struct {
	mu             sync.Mutex
	user, password string
	conversations  []*scram.ServerConversation
}

func (l *logins) create(command bson.Raw) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.user, l.password = command.Lookup("createUser").StringValue(), command.Lookup("pwd").StringValue()
}

// step answers saslStart and saslContinue.
func (l *logins) step(command bson.Raw) bson.M {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, continues := command.Lookup("conversationId").AsInt64OK()
	if !continues {
		client, err := scram.SHA256.NewClient(l.user, l.password, "")
		if err != nil {
			return refused(err)
		}
		stored, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "0123456789", Iters: 4096})
		if err != nil {
			return refused(err)
		}
		server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return stored, nil })
		if err != nil {
			return refused(err)
		}
		id = int64(len(l.conversations))
		l.conversations = append(l.conversations, server.NewConversation())
	}
	_, payload := command.Lookup("payload").Binary()
	answer, err := l.conversations[id].Step(string(payload))
	if err != nil {
		return refused(err)
	}
	return bson.M{
		"ok": 1, "conversationId": int32(id), "done": l.conversations[id].Done(), "payload": bson.Binary{Data: []byte(answer)},
	}
}

func refused(err error) bson.M {
	return bson.M{"ok": 0, "code": 18, "codeName": "AuthenticationFailed", "errmsg": err.Error()}
}
