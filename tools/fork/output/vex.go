package output

import (
	"encoding/json"
	"time"

	"golang.org/x/mod/module"

	"mongofork/tools/fork/advisory"
)

// vexDocument is a document in the format of OpenVEX v0.2.0, as far as advisories of one product need it. The library for that format
// brings protocol buffers and attestations along, which are many times what is written here.
type vexDocument struct {
	Context    string         `json:"@context"`
	ID         string         `json:"@id"`
	Author     string         `json:"author"`
	Timestamp  string         `json:"timestamp"`
	Version    int            `json:"version"`
	Statements []vexStatement `json:"statements"`
}

type vexStatement struct {
	Vulnerability vexVulnerability `json:"vulnerability"`
	Products      []vexProduct     `json:"products"`
	Status        string           `json:"status"`
	StatusNotes   string           `json:"status_notes,omitempty"`
	// Action is required of what is affected.
	Action string `json:"action_statement,omitempty"`
}

type vexVulnerability struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Aliases     []string `json:"aliases,omitempty"`
}

type vexProduct struct {
	ID string `json:"@id"`
}

// vex says of each advisory whether a release has it. What upstream fixed in the base counts, too: the release is a pre-release of its
// base, so scanners believe it to be older.
func vex(advisories advisory.List, at time.Time, base string, fork module.Version) ([]byte, error) {
	document := vexDocument{
		Context: "https://openvex.dev/ns/v0.2.0", ID: "urn:mongofork:" + fork.Version, Author: "mongofork",
		Timestamp: at.Format(time.RFC3339),
		Version:   1, Statements: []vexStatement{},
	}
	for _, a := range advisories {
		s := vexStatement{
			Vulnerability: vexVulnerability{Name: a.ID, Description: a.Title, Aliases: a.Aliases},
			Products:      []vexProduct{{ID: purl(fork)}},
			Status:        "fixed",
		}
		switch a.State(base) {
		case advisory.MendedUpstream:
			s.StatusNotes = "Upstream's " + base + " does not have it."
		case advisory.MendedHere:
			s.StatusNotes = "Fixed in the fork, with a test that fails without the fix."
		case advisory.Open:
			s.Status, s.Action = "affected", a.Accepted[base]
		}
		document.Statements = append(document.Statements, s)
	}
	return json.MarshalIndent(document, "", "  ")
}
