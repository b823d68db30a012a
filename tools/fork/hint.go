package fork

import (
	"path"
	"slices"
	"strings"
)

// sameName lists other packages of upstream that declare the name, as a hint.
func sameName(m *Module, key Key) string {
	var in []string
	for _, folder := range m.Folders() {
		p, err := m.Package(folder)
		if err != nil {
			continue // a hint is not worth failing for
		}
		for other := range p.decls {
			if other.Name == key.Name && other != key {
				in = append(in, other.Package)
			}
		}
	}
	slices.Sort(in)
	return strings.Join(in, ", ")
}

// watchHint suggests what a missing name may have meant.
func (m *Module) watchHint(key Key) string {
	if others := sameName(m, key); others != "" {
		return "upstream has that name in " + others
	}
	pkg, name, _ := strings.Cut(key.Name, ".")
	for _, folder := range m.Folders() {
		if found, err := m.Lookup(Key{folder, name}); path.Base(folder) == pkg && err == nil && len(found) > 0 {
			return "name the package by its folder: /" + folder + "." + name
		}
	}
	return "remove the name, after checking what replaced the declaration"
}

// places lists where declarations stand, with build constraints.
func places(decls []*Decl) string {
	var list []string
	for _, d := range decls {
		at := d.at()
		if d.File.Constraint != "" {
			at += " [" + d.File.Constraint + "]"
		}
		list = append(list, at)
	}
	return strings.Join(list, ", ")
}
