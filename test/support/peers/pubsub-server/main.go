// A Pub/Sub server in memory for tests: the official fake on one port, over gRPC and, for the few requests of the tests' reader, over HTTP with
// the paths and bodies of the service. Takes the options of the official emulator.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Largest body of a request, in bytes: that of a publish.
const bodyBytesMax = 10_000_000

func main() {
	host := flag.String("host", "127.0.0.1", "address to listen on")
	port := flag.Int("port", 8085, "port to listen on")
	flag.Parse()

	fake := pstest.NewServer() // listens on a port of its own too, which nobody uses
	rpc := grpc.NewServer(grpc.MaxRecvMsgSize(bodyBytesMax))
	pubsubpb.RegisterPublisherServer(rpc, &fake.GServer)
	pubsubpb.RegisterSubscriberServer(rpc, &fake.GServer)

	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			rpc.ServeHTTP(w, r)
			return
		}
		answer(w, r, &fake.GServer)
	})}
	listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", *host, *port))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Serve(listener))
}

// Answers one request over HTTP: the name of a resource is its path behind the version.
func answer(w http.ResponseWriter, r *http.Request, fake *pstest.GServer) {
	name, verb, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), ":")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytesMax))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result, err := perform(r.Context(), fake, r.Method+" "+verb, name, body)
	if err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	text, _ := protojson.Marshal(result)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

func statusOf(err error) int {
	switch status.Code(err) {
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists:
		return http.StatusConflict
	default:
		return http.StatusBadRequest
	}
}

func perform(ctx context.Context, fake *pstest.GServer, what string, name string, body []byte) (proto.Message, error) {
	isTopic := strings.Contains(name, "/topics/")
	switch {
	case what == "PUT " && isTopic:
		return fake.CreateTopic(ctx, &pubsubpb.Topic{Name: name})
	case what == "PUT ":
		request := &pubsubpb.Subscription{}
		if err := protojson.Unmarshal(body, request); err != nil {
			return nil, err
		}
		request.Name = name
		return fake.CreateSubscription(ctx, request)
	case what == "POST publish":
		request := &pubsubpb.PublishRequest{}
		if err := protojson.Unmarshal(body, request); err != nil {
			return nil, err
		}
		request.Topic = name
		return fake.Publish(ctx, request)
	case what == "POST pull":
		request := &pubsubpb.PullRequest{}
		if err := protojson.Unmarshal(body, request); err != nil {
			return nil, err
		}
		request.Subscription = name
		return fake.Pull(ctx, request)
	case what == "POST acknowledge":
		request := &pubsubpb.AcknowledgeRequest{}
		if err := protojson.Unmarshal(body, request); err != nil {
			return nil, err
		}
		request.Subscription = name
		return fake.Acknowledge(ctx, request)
	}
	return nil, status.Error(codes.NotFound, "no such request")
}
