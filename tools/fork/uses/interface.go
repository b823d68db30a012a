package uses

import (
	"go/types"
	"slices"
)

// name records the types that a package declares.
func (p *Program) name(declared *types.Package) {
	for _, name := range declared.Scope().Names() {
		if t, ok := declared.Scope().Lookup(name).(*types.TypeName); ok && !types.IsInterface(t.Type()) {
			p.named = append(p.named, t.Type())
		}
	}
}

// reached returns what a use of an object may reach: an interface's method is that of each of the module's types which implement it.
func (p *Program) reached(used types.Object) []types.Object {
	method, ok := used.(*types.Func)
	if !ok || method.Signature().Recv() == nil {
		return []types.Object{used}
	}
	face, ok := method.Signature().Recv().Type().Underlying().(*types.Interface)
	if !ok {
		return []types.Object{used}
	}
	found := []types.Object{used}
	for _, t := range p.named {
		if pointer := types.NewPointer(t); types.Implements(pointer, face) {
			object, _, _ := types.LookupFieldOrMethod(pointer, true, method.Pkg(), method.Name())
			found = append(found, object)
		}
	}
	return slices.DeleteFunc(found, func(o types.Object) bool { return o == nil })
}
