package output

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"time"
)

// zipMember is a file of a tree as package zip wants it.
type zipMember struct {
	path string
	data []byte
}

func (m zipMember) Path() string                 { return m.path }
func (m zipMember) Lstat() (fs.FileInfo, error)  { return m, nil }
func (m zipMember) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.data)), nil }
func (m zipMember) Name() string                 { return path.Base(m.path) }
func (m zipMember) Size() int64                  { return int64(len(m.data)) }
func (m zipMember) Mode() fs.FileMode            { return 0o644 }
func (m zipMember) ModTime() time.Time           { return time.Time{} }
func (m zipMember) IsDir() bool                  { return false }
func (m zipMember) Sys() any                     { return nil }
