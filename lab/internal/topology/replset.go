package topology

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
)

const (
	// defaultStepDown is the time for which a member that stepped down is not elected, unless replSetStepDown gives one.
	defaultStepDown = 60 * time.Second
	// maxPeriod bounds the commands' periods, as in mongod.
	maxPeriod = 365 * 24 * time.Hour
)

// isReplicaSetCommand reports whether a command concerns the set as such.
func isReplicaSetCommand(command string) bool { return strings.HasPrefix(command, "replSet") }

// administer runs the commands that concern the set.
func (m *member) administer(v view, command string, doc bson.Raw) (bson.D, *answer.Error) {
	switch command {
	case "replSetStepDown":
		return bson.D{}, m.stepDown(v, doc)
	case "replSetFreeze":
		return bson.D{}, m.freeze(v, doc)
	case "replSetGetStatus":
		return m.setStatus(), nil
	case "replSetGetConfig":
		return m.setConfig(), nil
	default:
		return nil, answer.Errorf(answer.CodeCommandNotFound, "%s is not supported by the lab's replica sets: "+
			"replSetStepDown, replSetFreeze, replSetGetStatus, replSetGetConfig", command)
	}
}

// stepDown runs replSetStepDown. Secondaries never lag, so force makes no difference.
func (m *member) stepDown(v view, doc bson.Raw) *answer.Error {
	if v.role != RolePrimary {
		return v.notWritablePrimary(doc)
	}
	period, refused := seconds(doc.Index(0).Value(), defaultStepDown)
	if refused != nil {
		return refused
	}
	if err := m.cluster.stepDownMember(m.index, period); err != nil {
		return v.notWritablePrimary(doc) // another step-down came first
	}
	return nil
}

func (m *member) freeze(v view, doc bson.Raw) *answer.Error {
	period, refused := seconds(doc.Index(0).Value(), 0)
	if refused != nil {
		return refused
	}
	if v.role == RolePrimary && period > 0 {
		return answer.Errorf(answer.CodeNotSecondary, "cannot freeze the primary; step it down first")
	}
	m.cluster.Freeze(m.index, period)
	return nil
}

// seconds reads a period; 0 stands for the default.
func seconds(value bson.RawValue, byDefault time.Duration) (time.Duration, *answer.Error) {
	n, ok := bsondoc.Int64(value)
	switch {
	case !ok || n < 0 || n > int64(maxPeriod/time.Second):
		return 0, answer.Errorf(answer.CodeBadValue, "a period is a number of seconds between 0 and %d", int64(maxPeriod/time.Second))
	case n == 0:
		return byDefault, nil
	default:
		return time.Duration(n) * time.Second, nil
	}
}

// setStatus returns the part of replSetGetStatus with the members' states.
func (m *member) setStatus() bson.D {
	states := map[Role]struct {
		number int
		name   string
	}{RolePrimary: {1, "PRIMARY"}, RoleSecondary: {2, "SECONDARY"}, RoleDown: {8, "(not reachable/healthy)"}}
	status := m.cluster.Status()
	members := bson.A{}
	for i, other := range status.Members {
		state, health := states[other.Role], 1.0
		if other.Role == RoleDown {
			health = 0
		}
		members = append(members, bson.D{
			{Key: "_id", Value: i}, {Key: "name", Value: other.Host}, {Key: "health", Value: health},
			{Key: "state", Value: state.number}, {Key: "stateStr", Value: state.name}, {Key: "self", Value: i == m.index},
		})
	}
	return bson.D{
		{Key: "set", Value: SetName}, {Key: "date", Value: time.Now()}, {Key: "term", Value: status.Term},
		{Key: "myState", Value: states[status.Members[m.index].Role].number}, {Key: "members", Value: members},
	}
}

// setConfig returns the part of replSetGetConfig that clients read.
func (m *member) setConfig() bson.D {
	members := bson.A{}
	for _, other := range m.cluster.members {
		members = append(members, bson.D{
			{Key: "_id", Value: other.index}, {Key: "host", Value: other.host}, {Key: "arbiterOnly", Value: false},
			{Key: "hidden", Value: false}, {Key: "priority", Value: 1.0}, {Key: "tags", Value: other.tags},
			{Key: "votes", Value: 1},
		})
	}
	return bson.D{{Key: "config", Value: bson.D{
		{Key: "_id", Value: SetName}, {Key: "version", Value: setVersion}, {Key: "term", Value: m.cluster.Status().Term},
		{Key: "members", Value: members},
	}}}
}
