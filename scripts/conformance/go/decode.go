package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"

	"github.com/hudl/fargo"
)

// The registry of oddities as fargo reads it, for ../arrival.py.
func decode() int {
	for _, useJSON := range []bool{false, true} {
		c := connection(useJSON)
		names := []string{}
		views := []struct {
			name string
			read func() ([]*fargo.Application, error)
		}{
			{"full", func() ([]*fargo.Application, error) {
				apps, err := c.GetApps()
				all := []*fargo.Application{}
				for name, app := range apps {
					names = append(names, name)
					all = append(all, app)
				}
				return all, err
			}},
			{"compact", func() ([]*fargo.Application, error) { return read("/apps", "compact", useJSON) }},
			{"delta", func() ([]*fargo.Application, error) { return read("/apps/delta", "", useJSON) }},
			{"application", func() ([]*fargo.Application, error) {
				all := []*fargo.Application{}
				for _, name := range names {
					app, err := c.GetApp(name)
					if err != nil {
						return nil, err
					}
					all = append(all, app)
				}
				return all, nil
			}},
		}
		for _, view := range views {
			dump := map[string]any{"client": "fargo", "version": version(), "view": view.name, "format": map[bool]string{false: "xml", true: "json"}[useJSON]}
			if records, err := recorded(view.read); err != nil {
				dump["error"] = err.Error()
			} else {
				dump["records"] = records
			}
			line, err := json.Marshal(dump)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			fmt.Println(string(line))
		}
	}
	return 0
}

// fargo has no call for these listings; its types read them.
func read(path, accept string, useJSON bool) ([]*fargo.Application, error) {
	request, err := http.NewRequest("GET", os.Getenv("EUREKA_URL")+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", map[bool]string{false: "application/xml", true: "application/json"}[useJSON])
	if accept != "" {
		request.Header.Set("X-Eureka-Accept", accept)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var found *fargo.GetAppsResponse
	if useJSON {
		var wrapped fargo.GetAppsResponseJson
		err = json.Unmarshal(body, &wrapped)
		found = wrapped.Response
	} else {
		err = xml.Unmarshal(body, &found)
	}
	if err != nil {
		return nil, err
	}
	for _, app := range found.Applications {
		if err := app.ParseAllMetadata(); err != nil {
			return nil, err
		}
	}
	return found.Applications, nil
}

func recorded(read func() ([]*fargo.Application, error)) (records []map[string]any, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	apps, err := read()
	records = []map[string]any{}
	for _, app := range apps {
		for _, i := range app.Instances {
			metadata := map[string]any{}
			for key, value := range i.Metadata.GetMap() {
				if number, is := value.(float64); is && math.IsInf(number, 0) {
					// JSON has no word for it.
					value = fmt.Sprint(number)
				}
				metadata[key] = value
			}
			records = append(records, map[string]any{
				"app": i.App, "instanceId": i.InstanceId, "hostName": i.HostName, "ipAddr": i.IPAddr, "status": i.Status,
				"port": i.Port, "portEnabled": i.PortEnabled, "securePort": i.SecurePort, "securePortEnabled": i.SecurePortEnabled,
				"vipAddress": i.VipAddress, "secureVipAddress": i.SecureVipAddress, "homePageUrl": i.HomePageUrl,
				"dataCenter": i.DataCenterInfo.Name, "dataCenterMetadata": center(i.DataCenterInfo), "metadata": metadata,
			})
		}
	}
	return records, err
}

func center(info fargo.DataCenterInfo) map[string]string {
	found := map[string]string{}
	for key, value := range info.AlternateMetadata {
		found[key] = value
	}
	amazon := map[string]string{}
	text, _ := json.Marshal(info.Metadata)
	_ = json.Unmarshal(text, &amazon)
	for key, value := range amazon {
		if value != "" {
			found[key] = value
		}
	}
	return found
}
