// Package strict reads YAML in which a field that nobody knows is an error.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"go.yaml.in/yaml/v3"
)

// Decode reads a text. If there is nothing in it, nothing changes.
func Decode(text []byte, to any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(to); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func Read(file string, to any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := Decode(text, to); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Optional reads a file, if it is there.
func Optional(file string, to any) error {
	if err := Read(file, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
