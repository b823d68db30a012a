package syntax

import (
	"testing"
)

func FuzzParseDirective(f *testing.F) {
	for _, seed := range []string{"//fork:replace a b", "//fork:watch A.B x/y.Z", "//fork:base >=v2.6.0 <v3.0.0", "//fork:", "// fork:wrap", "//fork:base <"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		d, ok, err := ParseDirective(line)
		if !ok || err != nil {
			return
		}
		again, ok, err := ParseDirective(d.String())
		if !ok || err != nil {
			t.Fatalf("%q was read from %q, but cannot be read again: %v", d, line, err)
		}
		if again.String() != d.String() {
			t.Fatalf("%q reads as %q", d, again)
		}
	})
}
