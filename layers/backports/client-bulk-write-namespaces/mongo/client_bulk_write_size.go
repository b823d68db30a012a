//fork:base <v2.10.0

package mongo

import (
	"math"
	"strconv"
)

// reservedSize are the bytes of a message that the wrapped appendBatches keeps for the rest of the command.
const reservedSize = 1000

// Models that no longer fit when all bytes of their namespaces count are left to the next batch.
//
//fork:wrap only a namespace's name was counted, so many of them exceeded the limit of a message
func (mb *modelBatches) appendBatches(fn functionSet, dst []byte, maxCount, totalSize int) (int, []byte, error) {
	count := &documentCount{limit: totalSize - reservedSize, fitting: math.MaxInt}
	n, message, err := mb.upstreamAppendBatches(count.documents(fn), dst, maxCount, totalSize)
	if count.fitting < n { // build the batch anew, with fewer models
		return mb.upstreamAppendBatches(fn, dst, count.fitting, totalSize)
	}
	return n, message, err
}

// documentCount counts the bytes of the documents that a batch consists of: each model's and, if its namespace is new, the namespace's.
type documentCount struct {
	size, limit int
	// fitting is the number of models that stay below the limit.
	fitting int
}

// documents returns functions that count what they append.
func (c *documentCount) documents(fn functionSet) functionSet {
	counted := fn
	counted.appendStart = func(dst []byte, identifier string) (int32, []byte) {
		idx, dst := fn.appendStart(dst, identifier)
		c.size += len(dst) // ops comes behind the message so far, nsInfo in bytes of its own
		return idx, dst
	}
	counted.appendDocument = func(dst []byte, index string, doc []byte) []byte {
		c.add(index, len(doc))
		return fn.appendDocument(dst, index, doc)
	}
	return counted
}

// add counts a document of the model with an index.
func (c *documentCount) add(index string, size int) {
	model, _ := strconv.Atoi(index) // a number: appendBatches gives a namespace that of its first model
	c.size += size
	if c.size >= c.limit && c.fitting > model { // it or its namespace does not fit, so nothing that follows does
		c.fitting = model
	}
}
