package series

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/strict"
)

// Tests is the change request with the unified tests of a repository, for the repository of the specifications.
type Tests struct {
	// Folder is where they go there. Its README.md gets the entry.
	Folder string   `yaml:"folder"`
	Entry  string   `yaml:"entry"`
	Files  []string `yaml:"files"`
}

// Write changes a checkout of the specifications, or writes what is new to an empty folder. The tests are YAML, of which that repository
// makes JSON by itself.
func (t Tests) Write(root, checkout string) error {
	readme := path.Join(t.Folder, "README.md")
	text, err := os.ReadFile(filepath.Join(checkout, filepath.FromSlash(readme)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Contains(text, []byte(t.Entry)) {
		text = append(append(text, '\n'), t.Entry...)
	}
	tree := filetree.Tree{readme: bytes.TrimLeft(text, "\n")}
	for _, file := range t.Files {
		var doc yaml.Node
		if err := strict.Read(filepath.Join(root, filepath.FromSlash(file)), &doc); err != nil {
			return err
		}
		inBlocks(&doc)
		var out bytes.Buffer
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		if err := encoder.Encode(&doc); err != nil {
			return err
		}
		tree[path.Join(t.Folder, strings.TrimSuffix(path.Base(file), ".json")+".yml")] = out.Bytes()
	}
	return tree.Write(checkout)
}

// inBlocks takes the brackets and quotes of JSON from a node.
func inBlocks(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		inBlocks(child)
	}
}
