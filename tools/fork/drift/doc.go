// Package drift tells what another version of the module changed beneath an overlay.
package drift
