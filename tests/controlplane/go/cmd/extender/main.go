// Command extender is a scheduler extender for tests, over the upstream wire types. A node fits if its label
// extender.moorage.dev/fits is "true"; its label extender.moorage.dev/score, 0 to 10, is its priority.
//
// It serves nodeCacheCapable callers, which send names only, and the others, which send whole nodes: for names, and to
// bind, it asks the API server of --kubeconfig. It keeps nothing between two calls, so a label counts at once.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "host:port to listen on; with port 0 a free one, which is printed")
	kubeconfig := flag.String("kubeconfig", "", "API server that knows the nodes and takes bindings")
	flag.Parse()
	if err := run(*address, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "extender:", err)
		os.Exit(1)
	}
}

func run(address, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // the caller's rate is the rate; no limit of our own on top
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return http.Serve(listener, newHandler(extender{client: client}))
}

func newHandler(e extender) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("POST /filter", verb(e.filter))
	mux.HandleFunc("POST /prioritize", verb(e.prioritize))
	mux.HandleFunc("POST /bind", verb(e.bind))
	mux.HandleFunc("POST /preempt", verb(e.preempt))
	return mux
}

// verb decodes the arguments, calls, and encodes the result. What the wire types have no field for becomes a 500.
func verb[Args, Result any](call func(context.Context, Args) (Result, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var args Args
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		result, err := call(r.Context(), args)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result)
	}
}
