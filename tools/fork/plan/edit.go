package plan

import "mongofork/tools/fork/syntax"

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
	// Line is where it stands in EditsFile.
	Line int `yaml:"-"`
}

// EditsFile is the file of a layer with its edits. They are made after what the layer's files do.
const EditsFile = "edits.yaml"
