module gosdk

go 1.26

require github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5 v5.4.0

require (
	github.com/DataDog/datadog-go/v5 v5.6.0 // indirect
	github.com/Microsoft/go-winio v0.5.0 // indirect
	github.com/golang/mock v1.6.0 // indirect
	github.com/google/uuid v1.5.0 // indirect
	github.com/gorilla/websocket v1.5.1 // indirect
	github.com/sethvargo/go-retry v0.2.4 // indirect
	golang.org/x/net v0.33.0 // indirect
	golang.org/x/sys v0.28.0 // indirect
)
