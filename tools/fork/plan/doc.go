// Package plan matches an overlay with the module that it is laid over: what its directives assert is looked up in the module and
// compared with the lock. It writes nothing but the lock's text.
package plan
