package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/interpreted"
)

func TestInstall(t *testing.T) {
	installs := func(program *interpreted.Program, err error) func(context.Context) (*interpreted.Program, error) {
		return func(context.Context) (*interpreted.Program, error) { return program, err }
	}
	there := language{"a", installs(&interpreted.Program{Path: "python", Args: []string{"load.py"}}, nil)}
	absent := language{"b", installs(nil, exec.ErrNotFound)}
	broken := language{"c", installs(nil, errors.New("no such package"))}
	var progress bytes.Buffer
	console := console{Progress: &progress}

	arms, err := install(context.Background(), console, []language{there, absent})
	require.NoError(t, err)
	assert.Equal(t, []goodput.Arm{{Name: "a", Program: "python", Script: []string{"load.py"}}}, arms)
	assert.Contains(t, progress.String(), "installing the load with b\nit is left out: ")

	_, err = install(context.Background(), console, []language{absent, absent})
	assert.ErrorContains(t, err, "install python3 with its module venv, or node and npm")

	_, err = install(context.Background(), console, []language{there, broken})
	assert.ErrorContains(t, err, "no such package\n")
	assert.ErrorContains(t, err, "run again: make bench-languages")
}
