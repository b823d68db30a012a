// Package output writes what was assembled: the module tree with its manifest, a patch, or a release with its SBOM.
package output
