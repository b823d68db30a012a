// Package syntax reads Go files, upstream's and the overlay's: their declarations and the keys that name them, directives,
// fingerprints, imports and signatures. It changes nothing, and knows neither the module nor the overlay.
package syntax
