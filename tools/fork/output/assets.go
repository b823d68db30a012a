package output

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
)

// writeAssets makes a folder of what is published of a release: an archive of the folder that serves as a GOPROXY, the lines for go.sum,
// the documents, and SHA256SUMS of all of these.
func writeAssets(dir, version string, served, documents filetree.Tree) error {
	have, err := filetree.Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(have) > 0 && have[sumsFile] == nil {
		return problem.List{{File: filepath.ToSlash(dir), Message: "the folder has something else than a release's assets",
			Mend: "choose another folder with --assets"}}
	}
	archive, err := archived(served)
	if err != nil {
		return err
	}
	assets := maps.Clone(documents)
	assets[version+".tar.gz"], assets[goSumFile] = archive, served[goSumFile]
	assets[sumsFile] = []byte(manifest(assets))
	return errors.Join(os.RemoveAll(dir), assets.Write(dir))
}

// archived returns a tree as a compressed archive that has nothing of this machine and this time.
func archived(t filetree.Tree) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, name := range t.Paths() {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(t[name])),
			Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := archive.Write(t[name]); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), compressed.Close())
	return out.Bytes(), err
}
