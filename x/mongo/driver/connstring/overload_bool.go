package connstring

import (
	"fmt"
	"strings"
)

// takeBool removes an option from the unknown ones. If it was there, it stores the value, and that it was set.
func (u *ConnString) takeBool(name string, value, set *bool) error {
	key := strings.ToLower(name) // as the parser keeps unknown options
	for _, text := range u.UnknownOptions[key] {
		if text != "true" && text != "false" {
			return fmt.Errorf("invalid value for %q: %q: want true or false", name, text)
		}
		*value, *set = text == "true", true
	}
	delete(u.UnknownOptions, key)
	return nil
}
