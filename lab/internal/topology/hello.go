package topology

import (
	"context"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// The fields of a hello or its reply about the place of a server in its deployment. The rest of a hello is between the client and
// the backend: authentication, compression, sizes, versions, the connection's number.
var (
	helloOptions = []string{versionField, "maxAwaitTimeMS", "loadBalanced"}
	helloPlace   = []string{
		"helloOk", "ismaster", "isWritablePrimary", "secondary", "passive", "hidden", "arbiterOnly", "isreplicaset",
		"setName", "setVersion", "hosts", "passives", "arbiters", "primary", "me", "electionId", "tags", "secondaryDelaySecs",
		versionField, "msg", "serviceId",
	}
)

// IsHello reports whether a command is a hello.
func IsHello(command string) bool {
	return command == "hello" || command == "isMaster" || command == "ismaster"
}

// hello passes a hello on without the fields about the deployment, and rewrites the reply. A client may ask for the reply when
// there is news, and for more replies after that: the waiting is done here, because only the cluster knows of news.
func (m *member) hello(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	wanted, malformed := parseAwait(req.Document())
	if malformed != nil {
		return malformed.Send(req, reply)
	}
	loadBalanced := bsondoc.IsTrue(req.Document().Lookup("loadBalanced"))
	stream := wanted != nil && req.Message.HasFlag(wire.ExhaustAllowed)
	for more := true; more; {
		if wanted != nil {
			if err := wanted.wait(ctx, m); err != nil {
				return err
			}
		}
		more = false
		err := next(ctx, plainHello(req), func(answer *wire.Message) error {
			if bsondoc.Succeeded(answer.Document()) {
				v := m.view()
				answer.SetDocument(m.rewriteHello(v, req, loadBalanced, answer.Document()))
				if msg, ok := answer.Content.(*wire.Msg); ok && stream {
					msg.Flags |= wire.MoreToCome
					wanted.known, more = v.version, true
				}
			}
			return reply(answer)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// plainHello returns the request without the fields that the cluster handles.
func plainHello(req *proxy.Request) *proxy.Request {
	plain, message := *req, *req.Message
	if msg, ok := message.Content.(*wire.Msg); ok {
		content := *msg
		content.Flags &^= wire.ExhaustAllowed
		message.Content = &content
	} else if query, ok := message.Content.(*wire.Query); ok {
		content := *query
		message.Content = &content
	}
	message.SetDocument(bsondoc.Rebuild(req.Document(), helloOptions, nil))
	plain.Message = &message
	return &plain
}

// rewriteHello returns the backend's reply as this member's.
func (m *member) rewriteHello(v view, req *proxy.Request, loadBalanced bool, reply bson.Raw) bson.Raw {
	writable := "isWritablePrimary"
	if req.Command != "hello" {
		writable = "ismaster"
	}
	without := helloPlace
	if m.cluster.spec.Kind != ReplicaSet {
		without = append(slices.Clone(without), "lastWrite")
	}
	if m.cluster.spec.Kind == Standalone {
		without = append(without, logicalTimes...)
	}
	return bsondoc.Rebuild(reply, without, func(dst []byte) []byte {
		if bsondoc.IsTrue(req.Document().Lookup("helloOk")) {
			dst = bsoncore.AppendBooleanElement(dst, "helloOk", true)
		}
		dst = bsoncore.AppendBooleanElement(dst, writable, v.role == RolePrimary || v.role == RoleNone)
		switch m.cluster.spec.Kind {
		case ReplicaSet:
			dst = m.appendSet(dst, v)
		case Sharded, LoadBalanced:
			dst = bsoncore.AppendStringElement(dst, "msg", "isdbgrid")
		}
		if loadBalanced && len(m.services) > 0 {
			service := m.services[(req.Client.ID-1)%uint64(len(m.services))]
			dst = bsoncore.AppendObjectIDElement(dst, "serviceId", service)
		}
		return v.version.append(dst)
	})
}

// appendSet adds a member's fields about its set.
func (m *member) appendSet(dst []byte, v view) []byte {
	dst = bsoncore.AppendBooleanElement(dst, "secondary", v.role == RoleSecondary)
	dst = bsoncore.AppendStringElement(dst, "setName", SetName)
	dst = bsoncore.AppendInt32Element(dst, "setVersion", setVersion)
	hosts := bsoncore.NewArrayBuilder()
	for _, other := range m.cluster.members {
		hosts.AppendString(other.host)
	}
	dst = bsoncore.AppendArrayElement(dst, "hosts", hosts.Build())
	if v.primary != "" {
		dst = bsoncore.AppendStringElement(dst, "primary", v.primary)
	}
	dst = bsoncore.AppendStringElement(dst, "me", m.host)
	if v.role == RolePrimary {
		dst = bsoncore.AppendObjectIDElement(dst, "electionId", v.electionID())
	}
	if len(m.tags) > 0 {
		i, tags := bsoncore.AppendDocumentElementStart(dst, "tags")
		for _, key := range slices.Sorted(maps.Keys(m.tags)) {
			tags = bsoncore.AppendStringElement(tags, key, m.tags[key])
		}
		dst, _ = bsoncore.AppendDocumentEnd(tags, i)
	}
	return dst
}
