// Command extender is a scheduler extender for tests, built from upstream's own types. A node fits if its label
// extender.moorage.dev/fits is "true"; its label extender.moorage.dev/score, 0 to 10, is its priority.
//
// It serves nodeCacheCapable callers, which send only names, and others, which send whole nodes. It reads named nodes
// from the API server of --kubeconfig, and binds through it. It keeps no state between calls, so that a changed label
// takes effect at once.
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
	address := flag.String("address", "127.0.0.1:0", "listen on this host:port; with port 0, use a free port and print it")
	kubeconfig := flag.String("kubeconfig", "", "read nodes from, and bind pods through, the API server of this kubeconfig")
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
	config.QPS = -1 // no client limit: the caller sets the rate
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

// verb decodes the arguments, calls the function and encodes the result. An error becomes a 500.
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
