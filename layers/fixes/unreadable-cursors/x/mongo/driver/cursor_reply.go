package driver

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// checkCursor returns an error if the reply's cursor lacks what its use takes for granted. A cursor without an id could have more
// documents than it shows.
func checkCursor(cursor bsoncore.Document, cr CursorResponse) error {
	missing := ""
	switch {
	case cr.FirstBatch == nil:
		missing = "firstBatch"
	case cr.ID == 0:
		if _, err := cursor.LookupErr("id"); err != nil {
			missing = "id"
		}
	case cr.Database == "" && cr.Collection == "":
		missing = "ns"
	}
	if missing == "" {
		return nil
	}
	if cr.Connection != nil {
		_ = cr.Connection.UnpinFromCursor()
	}
	return errors.New("malformed reply: the cursor has no " + missing)
}
