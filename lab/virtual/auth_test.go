package virtual

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// credentials returns those of a mechanism. MONGODB-OIDC has one for people and one for machines.
func credentials(mechanism string, p *provider) options.Credential {
	switch mechanism {
	case "human":
		return options.Credential{AuthMechanism: "MONGODB-OIDC", OIDCHumanCallback: p.token}
	case "machine":
		return options.Credential{AuthMechanism: "MONGODB-OIDC", OIDCMachineCallback: p.token}
	case "MONGODB-X509":
		return options.Credential{AuthMechanism: mechanism}
	case "PLAIN":
		return options.Credential{AuthMechanism: mechanism, AuthSource: "$external", Username: User, Password: Password}
	}
	return options.Credential{AuthMechanism: mechanism, Username: User, Password: Password}
}

// authenticating connects a client by TLS that authenticates by a mechanism, and counts how often its pools are cleared.
func authenticating(t *testing.T, mechanism string, auth Auth) (cluster *Cluster, client *mongo.Client, p *provider, cleared *int) {
	p, cleared = new(provider), new(int)
	cluster = New(t, Options{Topology: "replicaset:1", Auth: &auth, TLS: encryption()})
	opts := cluster.Client("tls=true", "tlsInsecure=true").SetAuth(credentials(mechanism, p)).SetPoolMonitor(&driverevent.PoolMonitor{
		Event: func(e *driverevent.PoolEvent) {
			if e.Type == driverevent.ConnectionPoolCleared {
				*cleared++
			}
		},
	})
	return cluster, connect(t, opts), p, cleared
}

// TestRejectedAuthentication is about an overloaded server that rejects a step of the authentication of new connections: the command is
// retried with backoff, no pool is cleared, and nobody is asked for a second token.
func TestRejectedAuthentication(t *testing.T) {
	for _, tt := range []struct {
		mechanism, step string
		met             int // by the client, of 2 rejections
	}{
		{"SCRAM-SHA-256", "saslStart", 2},
		{"SCRAM-SHA-256", "saslContinue", 2},
		{"PLAIN", "saslStart", 2},
		{"MONGODB-X509", "authenticate", 2},
		{"machine", "saslStart", 2},
		{"human", "saslStart", 2},
		{"human", "saslContinue", 1}, // from then on it has a token
	} {
		t.Run(tt.mechanism+" "+tt.step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster, client, p, cleared := authenticating(t, tt.mechanism, Auth{})
				met := 0
				cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
					if c.Name != tt.step || met == 2 {
						return run()
					}
					met++
					return RequestRate.Reply()
				})
				err := client.Database("db").Collection("c").FindOne(context.Background(), bson.D{}).Err()
				require.ErrorIs(t, err, mongo.ErrNoDocuments)
				assert.Equal(t, tt.met, met)
				assert.Equal(t, 1, cluster.Count("find"))
				assert.Zero(t, *cleared)
				assert.LessOrEqual(t, p.logins+p.refreshed, 1)
			})
		})
	}
}

// TestRejectedReauthentication is about an overloaded server that wants a new token on each connection, and then rejects it twice: the
// token stays, also for the other connections, and nobody is asked for another.
func TestRejectedReauthentication(t *testing.T) {
	for _, mechanism := range []string{"machine", "human"} {
		for _, speculative := range []bool{false, true} {
			t.Run(fmt.Sprint(mechanism, ", speculative: ", speculative), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cluster, client, p, cleared := authenticating(t, mechanism, Auth{Speculative: speculative})
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
					assert.Equal(t, provider{logins: 1}, *p)
					expired = true
					finds()
					assert.Zero(t, rejections)
					assert.NotEmpty(t, renewed)
					assert.Zero(t, *cleared)
					want := provider{logins: 2}
					if mechanism == "human" {
						want = provider{logins: 1, refreshed: 1}
					}
					assert.Equal(t, want, *p)
				})
			})
		}
	}
}
