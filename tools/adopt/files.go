package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/filetree"
)

// Edit is a change of one file. Before or After is nil if there is none.
type Edit struct {
	// Path is relative to the application's folder, with slashes.
	Path          string
	Before, After []byte
	// Mode is the file's if it has to be created, Folders that of each folder on the way to it.
	Mode    fs.FileMode
	Folders []fs.FileMode `json:",omitempty"`
}

// Diff compares the lines before and after, whatever ends them.
func (e Edit) Diff() string {
	return filetree.Diff("a/"+e.Path, unixLines(e.Before), "b/"+e.Path, unixLines(e.After))
}

func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// reversed returns the edits that take back what others did.
func reversed(edits []Edit) []Edit {
	back := slices.Clone(edits)
	slices.Reverse(back)
	for i, e := range back {
		back[i].Before, back[i].After = e.After, e.Before
	}
	return back
}

// apply makes the edits below a folder, all or none.
func apply(dir string, edits []Edit) error {
	for i, e := range edits {
		if err := e.apply(dir); err != nil {
			for _, back := range reversed(edits[:i]) {
				err = errors.Join(err, back.apply(dir))
			}
			return err
		}
	}
	return nil
}

func (e Edit) apply(dir string) error {
	name := filepath.Join(dir, filepath.FromSlash(e.Path))
	if e.After != nil {
		if _, err := os.Stat(name); err == nil {
			return filetree.Replace(name, e.After)
		}
		if err := e.makeFolders(dir); err != nil {
			return err
		}
		return errors.Join(filetree.Replace(name, e.After), os.Chmod(name, e.Mode))
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for at := path.Dir(e.Path); at != "."; at = path.Dir(at) {
		if os.Remove(filepath.Join(dir, filepath.FromSlash(at))) != nil {
			return nil // it holds other files
		}
	}
	return nil
}

// folders returns the modes of the folders on the way to a file, the outermost first.
func folders(dir, file string) (modes []fs.FileMode) {
	for _, name := range strings.Split(path.Dir(file), "/") {
		dir = filepath.Join(dir, name)
		info, err := os.Stat(dir)
		if err != nil {
			break
		}
		modes = append(modes, info.Mode()&^fs.ModeType)
	}
	return modes
}

// makeFolders makes those on the way to the file that do not exist, with the modes that they had.
func (e Edit) makeFolders(dir string) error {
	for i, name := range strings.Split(path.Dir(e.Path), "/") {
		dir = filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		if i < len(e.Folders) {
			if err := os.Chmod(dir, e.Folders[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// tree reads go.mod, go.sum and, if it is wanted, the vendor folder below dir.
func tree(dir string, vendor bool) (filetree.Tree, error) {
	t := filetree.Tree{}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			t[name] = data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if !vendor {
		return t, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Join(dir, "vendor"))
	if err != nil {
		return nil, err
	}
	files, err := filetree.Read(folder)
	for name, data := range files {
		t["vendor/"+name] = data
	}
	return t, err
}

// record is what Use changed in an application.
type record []Edit

// recordFile is the place of the application's record, if it has one.
func (a Application) recordFile() string {
	return filepath.Join(a.Records, filetree.Digest([]byte(a.Dir))[:16]+".json")
}

func (a Application) record() (r record, err error) {
	data, err := os.ReadFile(a.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, errors.Join(err, json.Unmarshal(data, &r))
}

// keep replaces the application's record; none removes it.
func (a Application) keep(r record) error {
	if r == nil {
		if err := os.Remove(a.recordFile()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(r)
	return errors.Join(err, filetree.Replace(a.recordFile(), data))
}

// holds reports whether there is a record, and the files are as it says: after Use or, where that was interrupted, before.
func (r record) holds(dir string) bool {
	return len(r) > 0 && !slices.ContainsFunc(r, func(e Edit) bool {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(e.Path)))
		is := func(want []byte) bool { return bytes.Equal(data, want) && (err == nil) == (want != nil) }
		return !is(e.After) && !is(e.Before)
	})
}

// with returns the record of these edits. If the fork was there already, they follow those of the record.
func (r record) with(dir string, edits []Edit, forked bool) record {
	if !forked {
		return edits
	}
	if !r.holds(dir) {
		return nil // what was there before the fork is not known
	}
	all := slices.Clone(r)
	for _, e := range edits {
		if i := slices.IndexFunc(all, func(was Edit) bool { return was.Path == e.Path }); i >= 0 {
			all[i].After = e.After
		} else {
			all = append(all, e)
		}
	}
	return all
}
