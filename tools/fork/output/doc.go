// Package output writes what was assembled: the module tree with its manifest, a patch, or a release with its SBOM, and brings edits of
// the tree back to the overlay.
package output
