package driver

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// It is an error if the cursor lacks what its use takes for granted. One without an id could have more documents than it shows.
//
//fork:wrap a cursor without a first batch or a namespace made its use panic, and one without an id seemed exhausted
func NewCursorResponse(response bsoncore.Document, info ResponseInfo) (CursorResponse, error) {
	cr, retErr := upstreamNewCursorResponse(response, info)
	missing := ""
	switch {
	case retErr != nil: // which says what is malformed
	case cr.FirstBatch == nil:
		missing = "firstBatch"
	case cr.ID == 0: // exhausted, so that no getMore needs a namespace, or not told
		if _, err := response.LookupErr("id"); err != nil {
			missing = "id"
		}
	case cr.Database == "" && cr.Collection == "":
		missing = "ns"
	}
	if missing == "" {
		return cr, retErr
	}
	if cr.Connection != nil { // behind a load balancer, to which the cursor was pinned
		_ = cr.Connection.UnpinFromCursor()
	}
	return CursorResponse{}, errors.New("malformed reply: the cursor has no " + missing)
}
