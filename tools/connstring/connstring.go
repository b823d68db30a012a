// Package connstring adds options to connection strings.
package connstring

import "strings"

// With returns a connection string with more options, such as "adaptiveRetries=true"; empty ones are left out.
func With(uri string, options ...string) string {
	for _, option := range options {
		if option == "" {
			continue
		}
		_, rest, _ := strings.Cut(uri, "://")
		switch {
		case strings.Contains(rest, "?"):
			uri += "&"
		case strings.Contains(rest, "/"):
			uri += "?"
		default:
			uri += "/?"
		}
		uri += option
	}
	return uri
}
