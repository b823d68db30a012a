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
		next.ServeHTTP(w, r.WithContext(mongo.NewCriticalityContext(r.Context(), class)))
	})
}

// Requests are marked where they come in. The handlers hand the context on to the driver, and know nothing of classes.
func ExampleNewCriticalityContext() {
	handler := marked(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path, mongo.CriticalityFromContext(r.Context()) == mongo.Critical)
	}))
	for _, path := range []string{"/checkout", "/reports/daily"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	// Output:
	// /checkout true
	// /reports/daily false
}
