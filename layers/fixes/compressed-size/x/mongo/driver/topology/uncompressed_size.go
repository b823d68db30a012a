package topology

import (
	"context"
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// read reads a message, a compressed one only if what it becomes is within the bound.
//
//fork:wrap a message of 25 bytes took memory of 2 GB
func (c *connection) read(ctx context.Context) ([]byte, string, error) {
	bytesRead, errMsg, err := c.upstreamRead(ctx)
	if err == nil {
		if err = c.checkUncompressedSize(bytesRead); err != nil {
			errMsg = "compressed message"
		}
	}
	return bytesRead, errMsg, err
}

// checkUncompressedSize limits the size that a compressed message announces to that of uncompressed messages. Memory of that size
// is allocated before anything is decompressed, 2 GB for a message of 25 bytes.
func (c *connection) checkUncompressedSize(wm []byte) error {
	_, _, _, opcode, rem, ok := wiremessage.ReadHeader(wm)
	if !ok || opcode != wiremessage.OpCompressed {
		return nil
	}
	_, rem, ok = wiremessage.ReadCompressedOriginalOpCode(rem)
	if !ok {
		return nil // who decompresses it says what it lacks
	}
	size, _, ok := wiremessage.ReadCompressedUncompressedSize(rem)
	if !ok || size < 0 {
		return nil // the same
	}
	const header = 16          // which the size does not count
	if size > 1<<31-1-header { // with which it would be no int32
		return errResponseTooLarge
	}
	var whole [4]byte
	binary.LittleEndian.PutUint32(whole[:], uint32(size)+header)
	_, err := c.parseWmSizeBytes(whole)
	return err
}
