package virtual

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"
	driverevent "go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/servererror"
)

// provider gives tokens, each another one, and with the first ones a refresh token. It counts what it was asked for.
type provider struct{ logins, refreshed int }

func (p *provider) token(_ context.Context, args *options.OIDCArgs) (*options.OIDCCredential, error) {
	if args.RefreshToken != nil {
		p.refreshed++
	} else {
		p.logins++
	}
	refresh := fmt.Sprint("refresh", p.refreshed)
	return &options.OIDCCredential{AccessToken: fmt.Sprint(Token, p.logins, p.refreshed), RefreshToken: &refresh}, nil
}

// TestRejectedReauthentication is about an overloaded server that wants a new token on each connection, and then rejects it twice: the
// token stays, also for the other connections, and nobody is asked for another.
func TestRejectedReauthentication(t *testing.T) {
	for _, human := range []bool{false, true} {
		for _, speculative := range []bool{false, true} {
			virtually(t, fmt.Sprint("human: ", human, ", speculative: ", speculative), func(t *testing.T) {
				var p provider
				credential, want := options.Credential{AuthMechanism: "MONGODB-OIDC", OIDCMachineCallback: p.token}, provider{logins: 2}
				if human {
					credential.OIDCMachineCallback, credential.OIDCHumanCallback = nil, p.token
					want = provider{logins: 1, refreshed: 1}
				}
				cluster := New(t, Options{Topology: "replicaset:1", Auth: &Auth{Speculative: speculative}, TLS: encryption()})
				opts := cluster.Client("tls=true", "tlsInsecure=true").SetAuth(credential)
				client := connect(t, opts.SetPoolMonitor(&driverevent.PoolMonitor{Event: func(e *driverevent.PoolEvent) {
					assert.NotEqual(t, driverevent.ConnectionPoolCleared, e.Type)
				}}))
				var mu sync.Mutex
				expired, renewed, rejections := false, map[uint64]bool{}, 2
				cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
					time.Sleep(10 * time.Millisecond) // so that calls need connections of their own
					mu.Lock()
					defer mu.Unlock()
					switch {
					case c.Name == "find" && expired && !renewed[c.Connection]:
						return servererror.Errorf(391, "the token has expired").Reply()
					case c.Name == "saslStart" && expired && rejections > 0:
						rejections--
						return RequestRate.Reply()
					case c.Name == "saslStart" && expired:
						renewed[c.Connection] = true
					}
					return run()
				})
				finds := func() {
					var running sync.WaitGroup
					for range 5 {
						running.Go(func() {
							err := client.Database("db").Collection("c").FindOne(context.Background(), bson.D{}).Err()
							assert.ErrorIs(t, err, mongo.ErrNoDocuments)
						})
					}
					running.Wait()
				}
				finds()
				assert.Equal(t, provider{logins: 1}, p)
				expired = true
				finds()
				assert.Zero(t, rejections)
				assert.NotEmpty(t, renewed)
				assert.Equal(t, want, p)
			})
		}
	}
}
