package mongo

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// reauthenticating counts how often a client authenticates again.
type reauthenticating struct {
	driver.Authenticator
	n int
}

func (a *reauthenticating) Reauth(context.Context, *driver.AuthConfig) error { a.n++; return nil }

// passing is automatic encryption that changes nothing.
type passing struct {
	driver.Crypt
	encrypted, decrypted int
}

func (p *passing) Encrypt(_ context.Context, _ string, command bsoncore.Document) (bsoncore.Document, error) {
	p.encrypted++
	return command, nil
}

func (p *passing) Decrypt(_ context.Context, reply bsoncore.Document) (bsoncore.Document, error) {
	p.decrypted++
	return reply, nil
}

func (*passing) BypassAutoEncryption() bool { return false }
func (*passing) Close()                     {}

// clusterTime is what a reply says of the cluster's time.
func clusterTime(seconds uint32) bson.E {
	return bson.E{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: seconds}}}}
}

// neverEncrypted are commands that have nothing to encrypt.
var neverEncrypted = regexp.MustCompile(`killCursors|(commit|abort)Transaction|\w+SearchIndex`)

// TestEveryCommandHasTheClientsOptions: the client's monitor sees each command of each method, which has the client's API version, the
// client's clock knows the time of each reply, and the command is sent again once the client has authenticated again, unless it is about a
// cursor or ends sessions, which not all versions send again.
func TestEveryCommandHasTheClientsOptions(t *testing.T) {
	for i, method := range append(sendingMethods(), withSeveralCommands...) {
		for asking := 1; ; asking++ {
			s, asked, seen := scripted.New(t), "", 0
			s.Rest = func(body bson.Raw) any {
				if len(s.Sent) == asking {
					asked = body.Index(0).Key()
					return scripted.Failure(391)
				}
				return append(answering(body, "two batches").(bson.D), clusterTime(uint32(len(s.Sent))))
			}
			monitor := &event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) { seen++ }}
			api := options.ServerAPI(options.ServerAPIVersion1)
			client := connectScript(t, s, options.Client().SetMonitor(monitor).SetServerAPIOptions(api))
			auth, crypt := &reauthenticating{}, &passing{}
			client.authenticator, client.cryptFLE = auth, crypt
			err := method.run(context.Background(), client.Database("db").Collection("coll"))
			name := fmt.Sprintf("%s/%d: command %d of %v: %v", method.name, i, asking, commandNames(t, s), err)
			assert.Equal(t, len(s.Sent), seen, name)
			assert.Equal(t, len(s.Sent)-len(neverEncrypted.FindAllString(fmt.Sprint(commandNames(t, s)), -1)), crypt.encrypted, name)
			for _, version := range s.Field("apiVersion") {
				assert.Equal(t, "1", version, name)
			}
			if len(s.Sent) < asking {
				latest, _, _ := client.clock.GetClusterTime().Lookup("$clusterTime", "clusterTime").TimestampOK()
				assert.Equal(t, len(s.Sent), int(latest), name)
				assert.Equal(t, crypt.encrypted, crypt.decrypted, name)
				break
			}
			assert.True(t, auth.n == 1 || asked == "getMore" || asked == "killCursors" || asked == "endSessions", name)
		}
	}
}
