package plan

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/strict"
)

// Lock pins everything that a build depends on for one version of upstream.
type Lock struct {
	// Module is upstream's module with its version. Sum is its hash, as in go.sum. It pins the declarations that are used but not
	// touched.
	Module string `yaml:"module"`
	Sum    string `yaml:"sum"`
	// Touched holds the fingerprint of upstream's declaration for everything that is touched, by verb and key.
	Touched map[string]string `yaml:"touched"`
}

// ParseLock reads a lock.
func ParseLock(file string, data []byte) (*Lock, error) {
	l := &Lock{}
	err := strict.Decode(data, l)
	if err == nil && (l.Module == "" || l.Sum == "") {
		err = errors.New("it lacks the module or its sum")
	}
	if err != nil {
		return nil, problem.List{{File: file, Message: fmt.Sprintf("the lock is wrong: %v", err),
			Mend: "restore the file from version control, then make lock"}}
	}
	return l, nil
}

// Format returns the lock's text: one line per declaration in order, so that changes merge line by line.
func (l *Lock) Format() ([]byte, error) { return yaml.Marshal(l) }

// touches returns the plan's touches of upstream's declarations, by the names of their entries in the lock. The lock does not cover
// declarations that an earlier layer has added.
func (p *Plan) touches() map[string]Touch {
	now := map[string]Touch{}
	for _, t := range p.Touches {
		if len(p.Theirs(t)) > 0 {
			now[fmt.Sprintf("%s %s", t.How, t.Key)] = t
		}
	}
	return now
}

// NewLock pins a plan as it is.
func NewLock(p *Plan) (l *Lock, err error) {
	l = &Lock{Module: p.Module.String(), Touched: map[string]string{}}
	for name, t := range p.touches() {
		l.Touched[name] = syntax.Fingerprint(p.Theirs(t)...)
	}
	l.Sum, err = p.Module.Sum()
	return l, err
}

// Check compares the plan with the lock, both ways if the plan is known to be complete.
func (l *Lock) Check(plan *Plan, file string, complete bool) problem.List {
	var ps problem.List
	now := plan.touches()
	for name, t := range now {
		said, locked := "not in the lock", l.Touched[name]
		if locked == syntax.Fingerprint(plan.Theirs(t)...) {
			continue
		} else if locked != "" {
			said = "upstream's declaration changed since the lock"
		}
		ps.Add(t.File.From, t.Line, "read upstream's declaration, then make lock", "//fork:%s %s: %s (%s, %s)",
			t.How, t.Key.Name, said, plan.Module.Version, syntax.Places(t.All))
	}
	for name := range l.Touched {
		if _, named := now[name]; complete && !named {
			ps.Add(file, 0, "make lock", "%s is locked, but no directive of the overlay names it", name)
		}
	}
	return ps
}
