package mongo_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// marked gives the requests of an HTTP server the class of what they are for.
func marked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		class := mongo.Normal
		switch {
		case strings.HasPrefix(r.URL.Path, "/reports/"):
			class = mongo.Sheddable
		case r.URL.Path == "/checkout":
			class = mongo.Critical
		}
		ctx := mongo.NewCriticalityContext(r.Context(), class)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Requests are marked where they come in. The handlers hand the context on to
// the driver, and know nothing of classes.
func ExampleNewCriticalityContext() {
	handle := func(_ http.ResponseWriter, r *http.Request) {
		class := mongo.CriticalityFromContext(r.Context())
		fmt.Println(r.URL.Path, class == mongo.Critical)
	}
	handler := marked(http.HandlerFunc(handle))
	for _, path := range []string{"/checkout", "/reports/daily"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	// Output:
	// /checkout true
	// /reports/daily false
}
