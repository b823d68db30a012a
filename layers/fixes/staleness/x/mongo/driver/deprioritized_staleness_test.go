package driver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestPreviouslyUsedServersAreAvoidedIfFresh does the same with a limit of staleness (max-staleness.md).
func TestPreviouslyUsedServersAreAvoidedIfFresh(t *testing.T) {
	avoidEverywhere(t, readPreferences(t, readpref.WithMaxStaleness(maxStaleness)))
}

// TestDeprioritizedServersTellStaleness is about reads that would be answered by a member that is overloaded: another one that is too
// stale for them does not become suitable by that (max-staleness.md).
func TestDeprioritizedServersTellStaleness(t *testing.T) {
	type one struct {
		lag, ago time.Duration // ago is how long before the others it was checked
	}
	const primary, secondary = description.ServerKindRSPrimary, description.ServerKindRSSecondary
	for name, tt := range map[string]struct {
		kind     description.ServerKind // of the overloaded member
		overload one
		others   []one
		want     string
	}{
		"both too stale":        {kind: primary, others: []one{{lag: 10 * time.Minute}, {lag: 11 * time.Minute}}, want: "overloaded"},
		"one is fresh":          {kind: primary, others: []one{{lag: time.Second}, {lag: 11 * time.Minute}}, want: "0"},
		"the only one is":       {kind: primary, others: []one{{lag: time.Minute}}, want: "0"},
		"the only one is not":   {kind: primary, others: []one{{lag: 2 * time.Minute}}, want: "overloaded"},
		"there is none":         {kind: primary, want: "overloaded"},
		"checked after it":      {kind: primary, overload: one{ago: 9 * time.Second}, others: []one{{lag: 81 * time.Second}}, want: "overloaded"},
		"checked before it":     {kind: primary, others: []one{{lag: 79 * time.Second, ago: 9 * time.Second}}, want: "0"},
		"an idle primary":       {kind: primary, overload: one{lag: time.Hour}, others: []one{{lag: time.Hour}, {lag: 2 * time.Minute}}, want: "0"},
		"no primary, too stale": {kind: secondary, others: []one{{lag: 10 * time.Minute}}, want: "overloaded"},
		"no primary, fresh":     {kind: secondary, others: []one{{lag: time.Minute}}, want: "0"},
	} {
		describe := func(host string, kind description.ServerKind, o one) description.Server {
			m := member(host, kind, "", o.lag)
			m.LastUpdateTime, m.LastWriteTime = m.LastUpdateTime.Add(-o.ago), m.LastWriteTime.Add(-o.ago)
			return m
		}
		s := scripted.New(t, scripted.Overloaded(), scripted.OK())
		s.Servers = []description.Server{describe("overloaded", tt.kind, tt.overload)}
		for i, o := range tt.others {
			s.Servers = append(s.Servers, describe(fmt.Sprint(i), secondary, o))
		}
		s.Topology = replicaSetKind(s.Servers)
		op := s.Read()
		op.ReadPreference = readpref.PrimaryPreferred(readpref.WithMaxStaleness(maxStaleness))
		require.NoError(t, s.Execute(context.Background(), op))
		assert.Equal(t, []address.Address{"overloaded:27017", address.Address(tt.want + ":27017")}, s.Selected, name)
	}
}
