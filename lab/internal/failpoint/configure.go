package failpoint

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/proxy"
)

// isBackends reports whether a configureFailPoint names a fail point that the lab does not have. If the backend has it, it fails
// for all fronts; otherwise the backend says that there is none.
func isBackends(command bson.Raw) bool {
	name, ok := command.Lookup("configureFailPoint").StringValueOK()
	return ok && name != failCommandName && name != transactionalWriteName
}

// configure answers a configureFailPoint. A refused one changes nothing.
func (h *Handler) configure(req *proxy.Request, reply proxy.ReplyFunc) error {
	count, err := h.set(req.Database, req.Document())
	if failure := new(answer.Error); errors.As(err, &failure) {
		return failure.Send(req, reply)
	}
	if err != nil {
		return err
	}
	return answer.OK(req, reply, bson.E{Key: "count", Value: count})
}

// set returns how often the fail point had been taken until then. Its errors are *answer.Error.
func (h *Handler) set(database string, command bson.Raw) (int64, error) {
	if database != "admin" {
		return 0, answer.Errorf(answer.CodeUnauthorized,
			"configureFailPoint may only be run against the admin database, not %q", database)
	}
	name, ok := command.Lookup("configureFailPoint").StringValueOK()
	if !ok {
		return 0, answer.Errorf(answer.CodeTypeMismatch, "configureFailPoint takes the name of a fail point")
	}
	mode, err := parseMode(command.Lookup("mode"))
	if err != nil {
		return 0, err
	}
	data, err := parseData(command.Lookup("data"))
	if err != nil {
		return 0, err
	}
	switch name {
	case failCommandName:
		return configurePoint(&h.failCommand, mode, data, parseFailCommand)
	case transactionalWriteName:
		return configurePoint(&h.onWrite, mode, data, parseTransactionalWrite)
	default:
		return 0, answer.Errorf(answer.CodeFailPointSetFailed, "%s is not a fail point of the lab", name)
	}
}

// parseData returns the document, or an empty one.
func parseData(value bson.RawValue) (bson.Raw, error) {
	if value.IsZero() {
		return bson.Raw{5, 0, 0, 0, 0}, nil
	}
	doc, ok := value.DocumentOK()
	if !ok {
		return nil, answer.Errorf(answer.CodeTypeMismatch, "data is %v; give a document", value.Type)
	}
	return doc, nil
}

func configurePoint[Data any](p *point[Data], m mode, data bson.Raw, parse func(bson.Raw) (*Data, error)) (int64, error) {
	if m.kind == off {
		return p.set(m, nil), nil
	}
	parsed, err := parse(data)
	if err != nil {
		return 0, err
	}
	return p.set(m, parsed), nil
}
