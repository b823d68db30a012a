package advisories

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/strict"
)

// Only what is reached counts, once, by the first call of the module that reaches it.
func TestRead(t *testing.T) {
	t.Parallel()
	found, err := read(strings.NewReader(`
{"config": {"protocol_version": "v1.0.0"}}
{"osv": {"id": "GO-1"}}
{"finding": {"osv": "GO-1", "fixed_version": "v1.2.0", "trace": [{"module": "m", "version": "v1.1.0"}]}}
{"finding": {"osv": "GO-1", "fixed_version": "v1.2.0", "trace": [{"module": "m", "version": "v1.1.0", "package": "m/p"}]}}
{"finding": {"osv": "GO-1", "fixed_version": "v1.2.0", "trace": [{"module": "m", "version": "v1.1.0", "package": "m/p", "function": "F"},
  {"module": "ours", "package": "ours/q", "receiver": "*T", "function": "Do"}]}}
{"finding": {"osv": "GO-1", "fixed_version": "v1.2.0", "trace": [{"module": "m", "version": "v1.1.0", "package": "m/p", "function": "G"},
  {"module": "ours", "package": "ours/q", "function": "Other"}]}}
{"finding": {"osv": "GO-2", "trace": [{"module": "n", "version": "v1.0.0"}]}}
`))
	require.NoError(t, err)
	assert.Equal(t, []Found{{"GO-1", "m", "v1.1.0", "v1.2.0", "ours/q.*T.Do"}}, found)
	_, err = read(strings.NewReader("no JSON"))
	assert.Error(t, err)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	var list []fork.Advisory
	require.NoError(t, strict.Decode([]byte(`
- {id: GO-1, affected: ["<v2.9.0"], dependency: {module: m, fixed: v1.2.0, go: "1.25"}, accepted: {v2.5.0: Why.}}
- {id: CVE-1, affected: ["<v2.9.0"]}
`), &list))
	require.IsType(t, []syntax.BaseRange{}, list[0].Affected)
	one := Found{"GO-1", "m", "v1.1.0", "v1.2.0", "q.Do"}
	two := Found{"GO-2", "n", "v1.1.0", "", "q.Do"}
	standard := Found{"GO-3", Standard, "v1.26.0", "v1.26.1", "q.Do"}
	for _, tt := range []struct {
		found []Found
		base  string
		want  []string
	}{
		{[]Found{one, standard}, "v2.5.0", nil},
		{[]Found{one, two}, "v2.5.0", []string{"GO-2 is open: n v1.1.0, fixed in , reached by q.Do"}},
		{nil, "v2.5.0", []string{"GO-1 is accepted by etc/advisories.yaml, but is not found: remove the entry, or the base from it"}},
		{[]Found{one}, "v2.10.0", []string{"GO-1 is open: m v1.1.0, fixed in v1.2.0, reached by q.Do"}},
		{[]Found{one}, "", []string{"GO-1 is open: m v1.1.0, fixed in v1.2.0, reached by q.Do"}},
		{nil, "", nil},
	} {
		assert.Equal(t, tt.want, Judge(tt.found, list, tt.base), tt)
	}
}

// Govulncheck finds an entry of the database by the module, and reads it by its name.
func TestPrepare(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	require.NoError(t, filetree.Tree{
		"data/osv/GO-1.json": []byte(`{"id": "GO-1", "modified": "2026-01-02T00:00:00Z", "affected": [{"package": {"name": "m"}}, {"package": {"name": "m"}}, {"package": {"name": "n"}}]}`),
		"data/osv/GO-2.json": []byte(`{"id": "GO-2", "modified": "2026-03-02T00:00:00Z", "affected": [{"package": {"name": "m"}}]}`),
	}.Write(at))
	s := Scanner{Database: "d@v1", Tool: "tool@v2", Index: filepath.Join(t.TempDir(), "index"),
		Run: func(_ context.Context, dir string, _ []string, name string, args ...string) ([]byte, error) {
			switch line := strings.Join(append([]string{name}, args...), " "); {
			case line == "go mod download -json d@v1":
				return json.Marshal(map[string]string{"Dir": at})
			case strings.HasPrefix(line, "go run tool@v2 -format json -db file://") && dir == "module":
				return []byte(`{"config": {}}`), nil
			default:
				return nil, fmt.Errorf("%s in %s", line, dir)
			}
		}}
	require.NoError(t, s.Prepare(t.Context()))
	index, err := filetree.Read(s.Index)
	require.NoError(t, err)
	require.Equal(t, []string{"ID/GO-1.json", "ID/GO-2.json", "index/db.json", "index/modules.json"}, index.Paths())
	assert.JSONEq(t, `{"modified": "2026-03-02T00:00:00Z"}`, string(index["index/db.json"]))
	one, two := `{"id": "GO-1", "modified": "2026-01-02T00:00:00Z"}`, `{"id": "GO-2", "modified": "2026-03-02T00:00:00Z"}`
	assert.JSONEq(t, `[{"path": "m", "vulns": [`+one+`, `+two+`]}, {"path": "n", "vulns": [`+one+`]}]`, string(index["index/modules.json"]))
	found, err := s.Scan(t.Context(), "module")
	require.NoError(t, err)
	assert.Empty(t, found)
}
