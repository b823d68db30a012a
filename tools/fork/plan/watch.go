package plan

import (
	"path"

	"mongofork/tools/fork/syntax"
)

// watch looks up one watched name.
func (mt *matcher) watch(w Watched) error {
	key, found, err := mt.named(syntax.Watch, w)
	if len(found) > 0 {
		mt.plan.Watched = append(mt.plan.Watched, Watching{Key: key, Watched: w, Theirs: found, Hash: syntax.FingerprintOf(found...)})
	}
	return err
}

// named looks up a declaration that a directive names. If there is none, that is a problem.
func (mt *matcher) named(verb syntax.Verb, w Watched) (syntax.Key, []*syntax.Decl, error) {
	p, err := mt.plan.Module.Package(path.Dir(w.File.Path))
	if err != nil {
		return syntax.Key{}, nil, err
	}
	pkg, ok := p.PackageOf(w.File)
	if !ok {
		pkg = path.Dir(w.File.Path)
	}
	key, err := syntax.ParseReference(w.Target, pkg)
	if err != nil {
		mt.problems.Add(w.File.Path, w.Line, "write it as docs/builder.md says", "//fork:%s: %v", verb, err)
		return syntax.Key{}, nil, nil
	}
	found, err := mt.plan.Module.Lookup(key)
	if err == nil && len(found) == 0 {
		mt.problems.Add(w.File.Path, w.Line, mt.plan.Module.WatchHint(key), "//fork:%s %s: upstream %s has no such declaration in %s", verb, key.Name, mt.plan.Module.Version, key.Package)
	}
	return key, found, err
}
