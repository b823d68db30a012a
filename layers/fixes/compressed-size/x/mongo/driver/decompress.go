package driver

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdReaderPool holds decoders that stop at the capacity of the slice they decode into, which is the size that the message
// announced. zstd can expand a few kilobytes to gigabytes.
//
//fork:replace a message decompressed to more than it announced, without any bound
var zstdReaderPool = sync.Pool{
	New: func() any {
		r, _ := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true)) // only other kinds of options can fail
		return r
	},
}
