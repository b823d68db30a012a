package editor

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/tools/go/packages"
)

// Answer answers a request of golang.org/x/tools/go/packages from a working directory.
func (w Workspace) Answer(ctx context.Context, dir string, request packages.DriverRequest, patterns []string) (*packages.DriverResponse, error) {
	modules, err := w.Modules()
	if err != nil {
		return nil, err
	}
	work := filepath.Join(filepath.Dir(w.Fork), filepath.Base(w.Fork)+".work")
	if err := w.WriteWork(work, modules); err != nil {
		return nil, err
	}
	roots, err := packages.Load(&packages.Config{
		Context: ctx, Mode: request.Mode, Dir: dir, BuildFlags: request.BuildFlags, Tests: request.Tests,
		Env:     append(request.Env, "GOPACKAGESDRIVER=off", "GOWORK="+work, "GOFLAGS="),
		Overlay: w.assembledOverlay(dir, request.Overlay),
	}, w.Patterns(dir, patterns, modules)...)
	if err != nil {
		return nil, err
	}
	response := &packages.DriverResponse{Compiler: runtime.Compiler, Arch: architecture(request.Env)}
	for _, root := range roots {
		response.Roots = append(response.Roots, root.ID)
	}
	packages.Visit(roots, nil, func(p *packages.Package) {
		w.showSources(p)
		response.Packages = append(response.Packages, p)
	})
	return response, nil
}

// showSources replaces the copies with the overlay's files.
func (w Workspace) showSources(p *packages.Package) {
	for _, files := range [][]string{p.GoFiles, p.CompiledGoFiles, p.OtherFiles, p.IgnoredFiles} {
		for i, file := range files {
			files[i] = w.Source(file)
		}
	}
}

// assembledOverlay names the unsaved buffers of the overlay's files as their copies.
func (w Workspace) assembledOverlay(dir string, buffers map[string][]byte) map[string][]byte {
	assembled := map[string][]byte{}
	for file, content := range buffers {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		assembled[w.Assembled(file)] = content
	}
	return assembled
}

// architecture returns the architecture that the request is for.
func architecture(env []string) string {
	arch := os.Getenv("GOARCH")
	for _, variable := range env {
		if value, ok := cutVariable(variable, "GOARCH"); ok {
			arch = value
		}
	}
	if arch == "" {
		return runtime.GOARCH
	}
	return arch
}

func cutVariable(variable, name string) (string, bool) {
	if len(variable) > len(name) && variable[:len(name)] == name && variable[len(name)] == '=' {
		return variable[len(name)+1:], true
	}
	return "", false
}
