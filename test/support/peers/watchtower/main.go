// Watchtower itself, by its Go module: the updater that people have beside their containers. It listens on port 8080 of
// all addresses and nowhere else, so tests give it a network of its own; what it serves there it also serves on the UNIX
// socket that WATCHTOWER_TEST_SOCKET names, which is reached from other networks.
package main

import (
	"log"
	"net"
	"net/http"
	"os"

	"github.com/containrrr/watchtower/cmd"
)

func main() {
	if path := os.Getenv("WATCHTOWER_TEST_SOCKET"); path != "" {
		listener, err := net.Listen("unix", path)
		if err != nil {
			log.Fatal(err)
		}
		go func() { log.Fatal(http.Serve(listener, nil)) }()
	}
	cmd.Execute()
}
