package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hudl/fargo"
)

const app = "GO-STORY"

// What an operator sees of an instance, not through a proxy.
type stored struct {
	Status    string            `json:"status"`
	Metadata  map[string]string `json:"metadata"`
	LeaseInfo struct {
		DurationInSecs int `json:"durationInSecs"`
	} `json:"leaseInfo"`
}

func call(method, url string, body []byte) (int, []byte, error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, content, err
}

func lookUp(id string) *stored {
	status, body, err := call("GET", os.Getenv("DIRECT_URL")+"/apps/"+app+"/"+id, nil)
	var found struct {
		Instance *stored `json:"instance"`
	}
	if err != nil || status != 200 || json.Unmarshal(body, &found) != nil {
		return nil
	}
	return found.Instance
}

func waitFor(what string, condition func() bool) error {
	for end := time.Now().Add(15 * time.Second); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("not within 15 s: %s", what)
		}
	}
	return nil
}

// A service: fargo has no heartbeats of its own, its user sends them, and decides what a failed one means.
type member struct {
	connection fargo.EurekaConnection
	instance   *fargo.Instance
	stop       chan struct{}
	ended      sync.WaitGroup
	// Heartbeats that failed, with the status, 0 where there was no answer.
	mutex  sync.Mutex
	failed []int
}

func newMember(id string, port int, useJSON bool) *member {
	return &member{
		connection: connection(useJSON),
		stop:       make(chan struct{}),
		instance: &fargo.Instance{
			InstanceId: id, HostName: id + ".test", App: app, IPAddr: "127.0.0.1", VipAddress: "go-vip", SecureVipAddress: "go-svip",
			Status: fargo.UP, Port: port, PortEnabled: true, SecurePort: port + 1000,
			DataCenterInfo: fargo.DataCenterInfo{Name: fargo.MyOwn},
			LeaseInfo:      fargo.LeaseInfo{RenewalIntervalInSecs: 1, DurationInSecs: 2},
			UniqueID:       func(i fargo.Instance) string { return i.InstanceId },
		},
	}
}

func (m *member) beat() {
	defer m.ended.Done()
	for {
		select {
		case <-m.stop:
			return
		case <-time.After(300 * time.Millisecond):
		}
		// A copy: registering reads the instance back into it.
		instance := *m.instance
		err := m.connection.HeartBeatInstance(&instance)
		if err == nil {
			continue
		}
		code, _ := fargo.HTTPResponseStatusCode(err)
		m.mutex.Lock()
		m.failed = append(m.failed, code)
		m.mutex.Unlock()
		if code == http.StatusNotFound {
			_ = m.connection.ReregisterInstance(&instance)
		}
	}
}

func (m *member) failures(code int) int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	count := 0
	for _, failed := range m.failed {
		if failed == code {
			count++
		}
	}
	return count
}

// What it sees of another by application; "" where it sees none.
func (m *member) sees(id string) *fargo.Instance {
	found, err := m.connection.GetApp(app)
	if err != nil {
		return nil
	}
	for _, instance := range found.Instances {
		if instance.InstanceId == id {
			return instance
		}
	}
	return nil
}

type step struct {
	name string
	tell func() error
}

func tell(useJSON bool) int {
	format := map[bool]string{false: "XML", true: "JSON"}[useJSON]
	for _, step := range steps(useJSON) {
		result, err := "ok", step.tell()
		if err != nil {
			result = "FAILED: " + strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Printf("fargo\t%s\t%s: %s\t%s\n", version(), format, step.name, result)
		if err != nil {
			return 1
		}
	}
	return 0
}

func expect(what string, got, wanted any) error {
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		return fmt.Errorf("%s: wanted %v, got %v", what, wanted, got)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func steps(useJSON bool) []step {
	one, two := newMember("one", 9001, useJSON), newMember("two", 9002, useJSON)
	status := func(wanted fargo.StatusType) func() bool {
		return func() bool { found := two.sees("one"); return found != nil && found.Status == wanted }
	}
	return []step{
		{"registers and is UP", func() error {
			one.instance.SetMetadataString("who", "one")
			if err := one.connection.RegisterInstance(one.instance); err != nil {
				return err
			}
			// It reads its registration back.
			found := lookUp("one")
			if found == nil {
				return fmt.Errorf("it is not there")
			}
			return first(
				expect("status", found.Status, "UP"), expect("metadata", found.Metadata["who"], "one"), expect("duration", found.LeaseInfo.DurationInSecs, 2),
				expect("read back", one.instance.LeaseInfo.RegistrationTimestamp > 0, true),
			)
		}},
		{"a second instance of the application finds it, and is found", func() error {
			one.ended.Add(1)
			go one.beat()
			if err := two.connection.RegisterInstance(two.instance); err != nil {
				return err
			}
			two.ended.Add(1)
			go two.beat()
			apps, err := two.connection.GetApps()
			if err != nil || apps[app] == nil {
				return fmt.Errorf("GetApps: %v, %v", apps, err)
			}
			found := two.sees("one")
			if found == nil || one.sees("two") == nil {
				return fmt.Errorf("GetApp does not find it")
			}
			who, err := found.Metadata.GetString("who")
			return first(expect("instances", len(apps[app].Instances), 2), expect("port", found.Port, 9001), err, expect("metadata", who, "one"))
		}},
		{"is found by VIP and by secure VIP", func() error {
			plain, err := two.connection.GetInstancesByVIPAddress("go-vip", false, fargo.ThatAreUp)
			secure, errSecure := two.connection.GetInstancesByVIPAddress("go-svip", true, fargo.ThatAreUp)
			none, errNone := two.connection.GetInstancesByVIPAddress("go-svip", false)
			return first(err, errSecure, errNone, expect("instances", []int{len(plain), len(secure), len(none)}, []int{2, 2, 0}))
		}},
		{"goes OUT_OF_SERVICE and back by UpdateInstanceStatus", func() error {
			if err := one.connection.UpdateInstanceStatus(one.instance, fargo.OUTOFSERVICE); err != nil {
				return err
			}
			if err := waitFor("out of service", status(fargo.OUTOFSERVICE)); err != nil {
				return err
			}
			up, err := two.connection.GetInstancesByVIPAddress("go-vip", false, fargo.ThatAreUp)
			if err := first(err, expect("instances that are up", len(up), 1)); err != nil {
				return err
			}
			return first(one.connection.UpdateInstanceStatus(one.instance, fargo.UP), waitFor("up again", status(fargo.UP)))
		}},
		{"changes its metadata by AddMetadataString", func() error {
			if err := one.connection.AddMetadataString(one.instance, "new", "ü & <>"); err != nil {
				return err
			}
			return waitFor("the other sees it", func() bool {
				found := two.sees("one")
				if found == nil {
					return false
				}
				value, err := found.Metadata.GetString("new")
				who, errWho := found.Metadata.GetString("who")
				return err == nil && value == "ü & <>" && errWho == nil && who == "one"
			})
		}},
		{"a lease of 2 s stays while heartbeats come, and only then", func() error {
			witness := newMember("witness", 9003, useJSON)
			if err := witness.connection.RegisterInstance(witness.instance); err != nil {
				return err
			}
			if two.sees("witness") == nil {
				return fmt.Errorf("the witness is not there")
			}
			err := waitFor("the lease without heartbeats ends", func() bool { return two.sees("witness") == nil })
			return first(err, expect("both are there", lookUp("one") != nil && lookUp("two") != nil, true), expect("failed heartbeats", append(one.failed, two.failed...), []int{}))
		}},
		{"server killed and restarted empty: HeartBeatInstance says 404, is back", func() error {
			if code, body, err := call("POST", os.Getenv("CONTROL_URL")+"/restart", nil); err != nil || code != 204 {
				return fmt.Errorf("%d %s %v", code, body, err)
			}
			for _, m := range []*member{one, two} {
				id := m.instance.InstanceId
				if err := waitFor(id+" is back", func() bool { found := lookUp(id); return found != nil && found.Status == "UP" }); err != nil {
					return err
				}
				if err := first(expect("heartbeats without an answer", m.failures(0) > 0, true), expect("heartbeats with 404", m.failures(404), 1)); err != nil {
					return err
				}
			}
			return waitFor("it is found again", status(fargo.UP))
		}},
		{"deregisters and is gone", func() error {
			for _, m := range []*member{one, two} {
				close(m.stop)
				m.ended.Wait()
				if err := m.connection.DeregisterInstance(m.instance); err != nil {
					return err
				}
				if lookUp(m.instance.InstanceId) != nil {
					return fmt.Errorf("%s is still there", m.instance.InstanceId)
				}
			}
			_, err := one.connection.GetApp(app)
			_, notFound := err.(fargo.AppNotFoundError)
			code, _ := fargo.HTTPResponseStatusCode(one.connection.HeartBeatInstance(one.instance))
			again, _ := fargo.HTTPResponseStatusCode(one.connection.DeregisterInstance(one.instance))
			return first(expect("application not found", notFound, true), expect("another heartbeat", code, 404), expect("another deregistration", again, 404))
		}},
	}
}
