// A service and a reader with fargo in them: `client story xml|json` and `client decode`. Started by run, inside ../stage.py.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/hudl/fargo"
	"github.com/op/go-logging"
)

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/hudl/fargo" {
			return module.Version[1:]
		}
	}
	return "-"
}

func connection(json bool) fargo.EurekaConnection {
	c := fargo.NewConn(os.Getenv("EUREKA_URL"))
	c.UseJson = json
	return c
}

func main() {
	for _, module := range []string{"fargo", "fargo.metadata", "fargo.marshal"} {
		logging.SetLevel(logging.CRITICAL, module)
	}
	switch {
	case len(os.Args) == 3 && os.Args[1] == "story":
		os.Exit(tell(os.Args[2] == "json"))
	case len(os.Args) == 2 && os.Args[1] == "decode":
		os.Exit(decode())
	}
	fmt.Fprintln(os.Stderr, "usage: client story xml|json, client decode")
	os.Exit(2)
}
