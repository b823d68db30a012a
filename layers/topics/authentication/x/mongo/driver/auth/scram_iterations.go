package auth

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
)

// maxIterations is how often the driver hashes a password at most. A million takes about a second. MongoDB's default is 15,000, and
// OWASP's advice 600,000 for SHA-256 and 1,300,000 for SHA-1.
const maxIterations = 2_000_000

// Next answers the server's message. It returns once the context ends, and does not even begin with more than maxIterations.
//
//fork:wrap the server says how often the password is hashed, which nothing ends: with i=30000000 it took half a minute
func (a *scramSaslAdapter) Next(ctx context.Context, challenge []byte) ([]byte, error) {
	if n := iterations(challenge); n > maxIterations {
		return nil, fmt.Errorf("server requested too many iterations (%d, the limit is %d)", n, maxIterations)
	}
	type answer struct {
		payload []byte
		err     error
	}
	answered := make(chan answer, 1) // with room, so that the goroutine ends even if nobody reads
	go func() {                      // which goes on after the context's end: only maxIterations ends it
		payload, err := a.upstreamNext(ctx, challenge)
		answered <- answer{payload, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-answered:
		return got.payload, got.err
	}
}

// iterations returns the iteration count of the server's first message (RFC 5802, "iteration-count"), or 0 if it has none.
func iterations(challenge []byte) int {
	for _, field := range bytes.Split(challenge, []byte(",")) {
		if count := bytes.TrimPrefix(field, []byte("i=")); len(count) < len(field) {
			// Too large a number is the largest. The conversation refuses what is no number.
			n, _ := strconv.Atoi(string(count))
			return n
		}
	}
	return 0
}
