package members

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
)

// ask asks the member for its role and the election it knows of. It uses the wire protocol only, so that no driver's judgement is
// involved.
func (m *Member) ask() (topology.Role, int64) {
	reply, err := m.hello()
	if err != nil {
		return topology.RoleDown, 0
	}
	term, _ := bsondoc.Int64(reply.Lookup("lastWrite", "opTime", "t"))
	switch {
	case bsondoc.IsTrue(reply.Lookup("isWritablePrimary")):
		return topology.RolePrimary, term
	case bsondoc.IsTrue(reply.Lookup("secondary")):
		return topology.RoleSecondary, term
	default:
		return topology.RoleDown, term // it starts, recovers or rolls back
	}
}

func (m *Member) hello() (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	conn, err := m.Backend.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return nil, err
	}
	codec, err := wire.NewCodec(0)
	if err != nil {
		return nil, err
	}
	command, err := bson.Marshal(bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}})
	if err != nil {
		return nil, err
	}
	if err := codec.Write(conn, &wire.Message{RequestID: 1, Content: &wire.Msg{Body: command}}); err != nil {
		return nil, err
	}
	reply, err := codec.Read(conn)
	if err != nil {
		return nil, err
	}
	return reply.Document(), nil
}
