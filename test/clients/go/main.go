// Command client makes a server and lists it with the client that oapi-codegen generates, and compiles the patterns that
// come by standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"

	"dormouse.test/client/api"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, key string) error {
	var patterns []string
	if err := json.NewDecoder(os.Stdin).Decode(&patterns); err != nil {
		return err
	}
	for _, pattern := range patterns {
		if _, err := regexp.Compile(pattern); err != nil {
			return err
		}
	}
	withKey := api.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-api-key", key)
		return nil
	})
	client, err := api.NewClientWithResponses(url, withKey)
	if err != nil {
		return err
	}
	made, err := client.CreateServerWithResponse(ctx, api.CreateServerRequest{Name: "From Go", RamMb: 256})
	if err != nil {
		return err
	}
	if made.JSON200 == nil {
		return fmt.Errorf("not made: %s", made.Body)
	}
	listed, err := client.ListServersWithResponse(ctx, nil)
	if err != nil {
		return err
	}
	if listed.JSON200 == nil {
		return fmt.Errorf("not listed: %s", listed.Body)
	}
	for _, server := range listed.JSON200.Servers {
		fmt.Println(server.Id, server.DiskUsageMb)
	}
	return nil
}
