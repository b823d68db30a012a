package upstream

import (
	"path"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
)

// SameName lists other packages of upstream that declare the name, as a hint.
func (m *Module) SameName(key syntax.Key) string {
	var in []string
	for _, folder := range m.Folders() {
		p, err := m.Package(folder)
		if err != nil {
			continue // a hint is not worth failing for
		}
		for _, other := range p.Keys() {
			if other.Name == key.Name && other != key {
				in = append(in, other.Package)
			}
		}
	}
	slices.Sort(in)
	return strings.Join(in, ", ")
}

// WatchHint suggests what a missing name may have meant.
func (m *Module) WatchHint(key syntax.Key) string {
	if others := m.SameName(key); others != "" {
		return "upstream has that name in " + others
	}
	pkg, name, _ := strings.Cut(key.Name, ".")
	for _, folder := range m.Folders() {
		if found, err := m.Lookup(syntax.Key{Package: folder, Name: name}); path.Base(folder) == pkg && err == nil && len(found) > 0 {
			return "name the package by its folder: /" + folder + "." + name
		}
	}
	return "remove the name, after checking what replaced the declaration"
}
