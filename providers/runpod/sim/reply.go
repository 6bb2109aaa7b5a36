package sim

import (
	"encoding/json"
	"net/http"
)

// reply is an answer of the API before it is written.
type reply struct {
	status int
	// body is sent as JSON; nil sends none. A status of 400 or more makes it
	// a problem document.
	body any
	// text is sent instead of a body, as plain text.
	text   string
	header map[string]string
	// stream writes the whole answer itself.
	stream func(http.ResponseWriter, *http.Request)
}

// problem is an error in the API's own shape.
func problem(status int, detail string, errs ...string) reply {
	body := map[string]any{"title": http.StatusText(status), "status": status, "detail": detail}
	if len(errs) > 0 {
		body["errors"] = errs
	}
	return reply{status: status, body: body}
}

func unprocessable(errs ...string) reply {
	return problem(http.StatusUnprocessableEntity, "Request validation failed.", errs...)
}

func notFound() reply { return problem(http.StatusNotFound, "resource not found") }

func badRequest(detail string) reply { return problem(http.StatusBadRequest, detail) }

// noCapacity is the one text by which a lack of machines is known.
func noCapacity() reply {
	return badRequest("There are no longer any instances available with the requested specifications. Please refresh and try again.")
}

func ok(body any) reply      { return reply{status: http.StatusOK, body: body} }
func created(body any) reply { return reply{status: http.StatusCreated, body: body} }
func noContent() reply       { return reply{status: http.StatusNoContent} }

// write sends the answer.
func (rep reply) write(w http.ResponseWriter, r *http.Request) {
	for k, v := range rep.header {
		w.Header().Set(k, v)
	}
	switch {
	case rep.stream != nil:
		rep.stream(w, r)
	case rep.text != "":
		w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		w.WriteHeader(rep.status)
		_, _ = w.Write([]byte(rep.text))
	case rep.body == nil:
		w.WriteHeader(rep.status)
	default:
		kind := "application/json"
		if rep.status >= 400 {
			kind = "application/problem+json"
		}
		data, err := json.Marshal(rep.body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(rep.status)
		_, _ = w.Write(data)
	}
}
