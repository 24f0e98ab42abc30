// A client of the public DERP protocol, from the module that also has derper: what a relay of ours is tested with. It tells what it does line by
// line on its standard output, and takes "send KEY BASE64" lines on its standard input. Keys are base64, as `wg` writes them.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"go4.org/mem"
	"tailscale.com/derp"
	"tailscale.com/derp/derphttp"
	"tailscale.com/net/netmon"
	"tailscale.com/tailcfg"
	"tailscale.com/types/key"
)

func main() {
	path := flag.String("map", "", "file of a relay map")
	region := flag.Int("region", 900, "region of the map")
	private := flag.String("key", "", "private key, base64; unless given, a new one")
	flag.Parse()

	own := key.NewNode()
	if *private != "" {
		if err := own.UnmarshalText([]byte("privkey:" + hex.EncodeToString(bytesOf(*private)))); err != nil {
			log.Fatal(err)
		}
	}
	text, err := os.ReadFile(*path)
	if err != nil {
		log.Fatal(err)
	}
	var relays tailcfg.DERPMap
	if err := json.Unmarshal(text, &relays); err != nil {
		log.Fatal(err)
	}
	client := derphttp.NewRegionClient(own, func(string, ...any) {}, netmon.NewStatic(), func() *tailcfg.DERPRegion { return relays.Regions[*region] })
	if err := client.Connect(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("key", textOf(own.Public()))
	fmt.Println("server", textOf(client.ServerPublicKey()))

	go func() {
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			words := strings.Fields(lines.Text())
			if len(words) == 3 && words[0] == "send" {
				if err := client.Send(key.NodePublicFromRaw32(mem.B(bytesOf(words[1]))), bytesOf(words[2])); err != nil {
					fmt.Println("problem", err)
				}
			}
		}
		os.Exit(0) // whoever started it is gone
	}()
	for {
		message, err := client.Recv()
		if err != nil {
			fmt.Println("lost", err)
			os.Exit(1)
		}
		switch m := message.(type) {
		case derp.ReceivedPacket:
			fmt.Println("packet", textOf(m.Source), base64.StdEncoding.EncodeToString(m.Data))
		case derp.PingMessage:
			fmt.Println("ping", hex.EncodeToString(m[:]))
			client.SendPong(m)
		case derp.HealthMessage:
			fmt.Println("health", m.Problem)
		case derp.ServerInfoMessage:
			fmt.Println("info")
		case derp.KeepAliveMessage:
			fmt.Println("alive")
		case derp.PeerGoneMessage:
			fmt.Println("gone", textOf(m.Peer))
		}
	}
}

func bytesOf(text string) []byte {
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		log.Fatal(err)
	}
	return bytes
}

func textOf(public key.NodePublic) string {
	raw := public.Raw32()
	return base64.StdEncoding.EncodeToString(raw[:])
}
