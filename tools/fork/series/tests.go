package series

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"mongofork/tools/fork/filetree"
)

// Tests is the change request with the unified tests of a repository, for the repository of the specifications.
type Tests struct {
	// Folder is where they go there. Its README.md gets the entry.
	Folder string `yaml:"folder"`
	Entry  string `yaml:"entry"`
	// Limit is the maxAdaptiveRetries that the tests are written for.
	Limit string   `yaml:"limit"`
	Files []string `yaml:"files"`
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
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(data, &doc); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		t.limit(doc.Content[0])
		var out bytes.Buffer
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		if err := encoder.Encode(inBlocks(&doc)); err != nil {
			return err
		}
		tree[path.Join(t.Folder, strings.TrimSuffix(path.Base(file), ".json")+".yml")] = out.Bytes()
	}
	for name, data := range tree {
		if err := filetree.Replace(filepath.Join(checkout, filepath.FromSlash(name)), data); err != nil {
			return err
		}
	}
	return nil
}

// limit gives each client of a test file the limit.
func (t Tests) limit(file *yaml.Node) {
	for _, entity := range field(file, "createEntities", yaml.SequenceNode).Content {
		if entity.Content[0].Value == "client" {
			options := field(entity.Content[1], "uriOptions", yaml.MappingNode)
			limit := field(options, "maxAdaptiveRetries", yaml.ScalarNode)
			*limit = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: t.Limit}
		}
	}
}

// field returns the value of a key, which is added if it is not there.
func field(of *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	for i := 0; i < len(of.Content); i += 2 {
		if of.Content[i].Value == key {
			return of.Content[i+1]
		}
	}
	value := &yaml.Node{Kind: kind}
	of.Content = append(of.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	return value
}

// inBlocks returns a node without the brackets and quotes of JSON.
func inBlocks(n *yaml.Node) *yaml.Node {
	n.Style = 0
	for _, child := range n.Content {
		inBlocks(child)
	}
	return n
}
