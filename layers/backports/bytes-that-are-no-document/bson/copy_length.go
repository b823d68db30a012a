//fork:base <v2.9.2

package bson

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// copyBytesToValueWriter writes the elements of a document or array.
//
//fork:wrap bytes with a stated length shorter than the length itself made it panic
func copyBytesToValueWriter(src []byte, wef writeElementFn) error {
	const shortest = 5 // the length and the final zero
	if length, _, ok := bsoncore.ReadLength(src); ok && length < shortest {
		return fmt.Errorf("document or array of length %d, want at least %d", length, shortest)
	}
	return upstreamCopyBytesToValueWriter(src, wef)
}
