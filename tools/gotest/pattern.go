package gotest

import (
	"regexp"
	"strings"
)

// address replaces any pointer in the name of a test in a key.
const address = "0xADDRESS"

// Pattern returns the argument of -run that selects exactly the named test or
// subtest.
func Pattern(test string) string {
	elements := strings.Split(test, "/")
	for i, element := range elements {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(element), address, "0x[0-9a-f]+")
		elements[i] = "^" + quoted + "$"
	}
	return strings.Join(elements, "/")
}

// AnyOf returns the argument of -run that selects exactly the named test
// functions.
func AnyOf(functions []string) string {
	quoted := make([]string, len(functions))
	for i, function := range functions {
		quoted[i] = regexp.QuoteMeta(function)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}
