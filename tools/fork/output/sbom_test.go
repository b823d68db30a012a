package output

import (
	"bytes"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
)

// The SBOM says what the fork is of, what it needs, and which of its ancestor's vulnerabilities it has.
func TestSBOM(t *testing.T) {
	t.Parallel()
	list, err := advisory.Parse("a.yaml", []byte(forktest.Advisory(map[string]string{"mended": ""})+forktest.Advisory(map[string]string{"id": "CVE-2"})+
		forktest.Advisory(map[string]string{"id": "CVE-3", "affected": `["<v2.0.0"]`, "mended": ""})))
	require.NoError(t, err)
	of := module.Version{Path: forktest.Module, Version: "v2.0.0"}
	goMod := "module " + forktest.Module + "\n\nrequire (\n\texample.com/b v1.0.0\n\texample.com/a v1.2.0 // indirect\n)\n"
	write := func() []byte {
		bom, err := newSBOM(module.Version{Path: forktest.Module, Version: "v2.0.0-fork.1"}, []byte(goMod), []byte("zip"))
		require.NoError(t, err)
		bom.forkOf(of, list)
		text, err := bom.encode()
		require.NoError(t, err)
		return text
	}
	data := write()
	bom := new(cdx.BOM)
	require.NoError(t, cdx.NewBOMDecoder(bytes.NewReader(data), cdx.BOMFileFormatJSON).Decode(bom))
	self := bom.Metadata.Component
	require.Equal(t, "pkg:golang/example.com/driver/v2@v2.0.0-fork.1", self.PackageURL)
	require.Equal(t, "pkg:golang/example.com/driver/v2@v2.0.0", (*self.Pedigree.Ancestors)[0].PackageURL)
	require.Equal(t, []cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: filetree.Digest([]byte("zip"))}}, *self.Hashes)
	require.Equal(t, []string{"pkg:golang/example.com/a@v1.2.0", "pkg:golang/example.com/b@v1.0.0"}, *(*bom.Dependencies)[0].Dependencies)
	require.Len(t, *bom.Components, 2)
	states := map[string]cdx.ImpactAnalysisState{}
	for _, v := range *bom.Vulnerabilities {
		states[v.ID] = v.Analysis.State
		require.Equal(t, self.BOMRef, (*v.Affects)[0].Ref)
	}
	require.Equal(t, map[string]cdx.ImpactAnalysisState{"CVE-1": cdx.IASExploitable, "CVE-2": cdx.IASResolvedWithPedigree, "CVE-3": cdx.IASNotAffected}, states)
	require.Equal(t, string(data), string(write()))
}
