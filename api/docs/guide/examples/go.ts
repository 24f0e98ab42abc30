/** What the page for integrators shows in Go: version 1.22 or later, and nothing but its standard library. */
import type { Route } from './routes.ts';

/** What it knows of the answers, and how it asks. */
const CALLS = `package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

type Node struct {
	ID   string \`json:"id"\`
	Name string \`json:"name"\`
}

type Command struct {
	ID      string \`json:"id"\`
	Summary struct {
		Pending int \`json:"pending"\`
		Sent    int \`json:"sent"\`
	} \`json:"summary"\`
}

type Execution struct {
	NodeID   string  \`json:"node_id"\`
	ExitCode *int    \`json:"exit_code"\`
	Output   *string \`json:"output"\`
}

// call answers what the service answers; a refusal ends the program with its words.
func call[T any](method, path string, body any) (data T) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		check(err)
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, os.Getenv("EDGE_URL")+path, content)
	check(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("EDGE_API_KEY"))
	if body != nil {
		key := make([]byte, 16)
		rand.Read(key)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", fmt.Sprintf("%x", key))
	}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	var answer struct {
		Data  T \`json:"data"\`
		Error *struct {
			Code    string              \`json:"code"\`
			Message string              \`json:"message"\`
			Details map[string][]string \`json:"details"\`
		} \`json:"error"\`
	}
	check(json.NewDecoder(response.Body).Decode(&answer))
	if answer.Error != nil {
		check(fmt.Errorf("%s: %s %v", answer.Error.Code, answer.Error.Message, answer.Error.Details))
	}
	return answer.Data
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

`;

/** Reads nodes, runs a script on them and prints what each of them said. */
export function fleetGo(route: Route): string {
  return `${CALLS}func main() {
	nodes := call[[]Node]("GET", "${route('list_nodes')}?status__in=healthy&page_size=100", nil)
	names, ids := map[string]string{}, []string{}
	for _, node := range nodes {
		names[node.ID] = node.Name
		ids = append(ids, node.ID)
	}
	fmt.Printf("healthy: %d\\n", len(nodes))

	command := call[Command]("POST", "${route('create_command')}", map[string]any{
		"command_text": "echo hello from $(uname -s)",
		"targeting":    map[string]any{"type": "nodes", "node_ids": ids},
		"timeout":      60_000,
	})
	for command.Summary.Pending+command.Summary.Sent > 0 {
		time.Sleep(500 * time.Millisecond)
		command = call[Command]("GET", "${route('get_command').replace('{id}', '')}"+command.ID, nil)
	}

	for _, execution := range call[[]Execution]("GET", "${route('list_command_executions')}?page_size=100&command_id__in="+command.ID, nil) {
		output, exit := "", "none"
		if execution.Output != nil {
			output = strings.TrimRight(*execution.Output, "\\n")
		}
		if execution.ExitCode != nil {
			exit = fmt.Sprint(*execution.ExitCode)
		}
		fmt.Printf("%s: %s (exit %s)\\n", names[execution.NodeID], output, exit)
	}
}
`;
}

/** Receives deliveries of a webhook. */
export const RECEIVER_GO = `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const ageMax = 5 * time.Minute

// keyOf is the base64 behind whsec_, and the bytes of any other secret.
func keyOf(secret string) []byte {
	if strings.HasPrefix(secret, "whsec_") {
		encoded := strings.TrimRight(strings.TrimPrefix(secret, "whsec_"), "=")
		if key, err := base64.RawStdEncoding.DecodeString(encoded); err == nil {
			return key
		}
	}
	return []byte(secret)
}

// isSigned tells whether this is a delivery of the service, and no older one that somebody sends again.
func isSigned(key []byte, header http.Header, body []byte) bool {
	sent := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > ageMax {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), sent, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(given), []byte(expected)) {
			return true
		}
	}
	return false
}

func main() {
	key := keyOf(os.Getenv("WEBHOOK_SECRET"))
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1<<20))
		if err != nil || !isSigned(key, request.Header, body) {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		response.WriteHeader(http.StatusNoContent)
		var event struct{ Type, ID string }
		if json.Unmarshal(body, &event) == nil {
			fmt.Println(event.Type, event.ID)
		}
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(":"+port, nil))
}
`;
