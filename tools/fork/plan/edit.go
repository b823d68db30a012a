package plan

import (
	"errors"
	"io/fs"
	"path"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/strict"
)

// Edit changes a function at one place. The place is told by the names that stand there, so that nothing of upstream's text is repeated.
type Edit struct {
	// Base is the range of upstream's versions that it is for; all, if there is none.
	Base syntax.BaseRange `yaml:"base"`
	// In is the function's key.
	In syntax.Key `yaml:"in"`
	// At is a place: "statement", "return", "call" or "condition", or the "comment" above a statement; then all names that stand
	// there; then, if there are several such places, "#" and which of them.
	At string `yaml:"at"`
	// Instead is put in its place, with what stood there for each "…"; Move is the statement before which it comes.
	Instead string `yaml:"instead"`
	Move    string `yaml:"move"`

	// From is the file that it stands in, and Layer the number of that layer.
	From  string `yaml:"-"`
	Layer int    `yaml:"-"`
}

// EditsFile is the file of a layer with its edits. They are made after what the layer's files do.
const EditsFile = "edits.yaml"

// readEdits adds the edits of a layer that are for a version of upstream.
func (o *Overlay) readEdits(repository fs.FS, layer Layer, number int, version string, ps *problem.List) error {
	name := path.Join(layer.Name, EditsFile)
	data, err := fs.ReadFile(repository, name)
	if !layer.Below || errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var edits []Edit
	if err := strict.Decode(data, &edits); err != nil {
		ps.Add(name, 0, "correct the line that the message names", "the file cannot be read: %v", err)
	}
	for _, edit := range edits {
		if edit.Base.Holds(version) {
			edit.From, edit.Layer = name, number
			o.Edits = append(o.Edits, edit)
		}
	}
	return nil
}
