package serverselector

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// selectForReplicaSet leaves out the secondaries that are too stale for the read preference. All members that the topology knows tell
// how stale the others are, also those that are no candidates because they are deprioritized (max-staleness.md, "maxStalenessSeconds").
//
//fork:wrap the staleness of a secondary does not depend on which members are candidates
func selectForReplicaSet(
	rp *readpref.ReadPref, isOutputAggregate bool, topo description.Topology, candidates []description.Server,
) ([]description.Server, error) {
	limit, limited := rp.MaxStaleness()
	if !limited {
		return upstreamSelectForReplicaSet(rp, isOutputAggregate, topo, candidates)
	}
	if err := verifyMaxStaleness(rp, topo); err != nil { // what is wrapped does not see the limit any more
		return nil, err
	}
	unlimited, err := readpref.New(rp.Mode(), readpref.WithTagSets(rp.TagSets()...))
	if err != nil {
		return nil, err
	}
	return upstreamSelectForReplicaSet(unlimited, isOutputAggregate, topo, withoutStale(topo.Servers, candidates, limit))
}

// withoutStale returns the candidates, among which secondaries that are too stale get the kind Unknown, so that they are not selected. They
// are not removed: whether an aggregate with $out or $merge may go to a secondary depends on the versions of all candidates.
func withoutStale(members, candidates []description.Server, limit time.Duration) []description.Server {
	staleness := stalenessBy(members)
	fresh := append([]description.Server{}, candidates...)
	for i := range fresh {
		if fresh[i].Kind == description.ServerKindRSSecondary && staleness(fresh[i])+fresh[i].HeartbeatInterval > limit {
			fresh[i].Kind = description.Unknown
		}
	}
	return fresh
}

// stalenessBy returns how far a secondary is behind the primary or, if that is not known, behind the secondary with the newest write.
func stalenessBy(members []description.Server) func(description.Server) time.Duration {
	var newest time.Time
	for _, member := range members {
		switch {
		case member.Kind == description.ServerKindRSPrimary:
			primary := member
			return func(s description.Server) time.Duration {
				return s.LastUpdateTime.Sub(s.LastWriteTime) - primary.LastUpdateTime.Sub(primary.LastWriteTime)
			}
		case member.Kind == description.ServerKindRSSecondary && member.LastWriteTime.After(newest):
			newest = member.LastWriteTime
		}
	}
	return func(s description.Server) time.Duration { return newest.Sub(s.LastWriteTime) }
}
