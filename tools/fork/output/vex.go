package output

import (
	"encoding/json"
	"time"

	"golang.org/x/mod/module"

	"mongofork/tools/fork/advisory"
)

// vex says of each advisory whether a release has it. What upstream fixed in the base counts, too: the release is a pre-release of its
// base, so scanners believe it to be older.
// The format is OpenVEX v0.2.0, as far as advisories of one product need it. The library for that brings protocol buffers and attestations
// along, which are many times what is written here.
func vex(advisories advisory.List, at time.Time, base string, fork module.Version) ([]byte, error) {
	type object map[string]any
	statements := []object{}
	for _, a := range advisories {
		vulnerability := object{"name": a.ID, "description": a.Title}
		if len(a.Aliases) > 0 {
			vulnerability["aliases"] = a.Aliases
		}
		s := object{"vulnerability": vulnerability, "products": []object{{"@id": purl(fork)}}, "status": "fixed"}
		switch a.State(base) {
		case advisory.MendedUpstream:
			s["status_notes"] = "Upstream's " + base + " does not have it."
		case advisory.MendedHere:
			s["status_notes"] = "Fixed in the fork, with a test that fails without the fix."
		case advisory.Open:
			s["status"], s["action_statement"] = "affected", a.Accepted[base]
		}
		statements = append(statements, s)
	}
	return json.MarshalIndent(object{
		"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:mongofork:" + fork.Version, "author": "mongofork",
		"timestamp": at.Format(time.RFC3339), "version": 1, "statements": statements,
	}, "", "  ")
}
