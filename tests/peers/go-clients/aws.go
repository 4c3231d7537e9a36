// The AWS SDK for Go, which the Terraform provider for AWS is built on: finds credentials as its configuration says, and signs with them.
//
//	aws identity   prints who STS says that it is; STS is at $STS_ENDPOINT
//	aws rows       for each row of $HOME/rows.json, lets the profile `stub` print it, and says whether its keys were taken
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

func main() {
	what := map[string]func() error{"identity": identity, "rows": rows}[os.Args[1]]
	if err := what(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func identity() error {
	loaded, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return err
	}
	client := sts.NewFromConfig(loaded, sts.WithEndpointResolver(sts.EndpointResolverFromURL(os.Getenv("STS_ENDPOINT"))))
	said, err := client.GetCallerIdentity(context.Background(), &sts.GetCallerIdentityInput{})
	if err != nil {
		return err
	}
	keys, err := loaded.Credentials.Retrieve(context.Background())
	if err != nil {
		return err
	}
	fmt.Println(*said.Arn, keys.Source)
	return nil
}

func rows() error {
	var all []json.RawMessage
	read, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "rows.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(read, &all); err != nil {
		return err
	}
	for _, row := range all {
		if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), "stub.json"), row, 0o600); err != nil {
			return err
		}
		fmt.Println(taken())
	}
	return nil
}

func taken() string {
	loaded, err := config.LoadDefaultConfig(context.Background(), config.WithSharedConfigProfile("stub"))
	if err != nil {
		return "refused"
	}
	if _, err := loaded.Credentials.Retrieve(context.Background()); err != nil {
		return "refused"
	}
	return "taken"
}
