// The generators of the provider protocol's Go code, pinned apart from the
// program's own dependencies. make generate runs them.
module github.com/overbrainer/overbrainer/tools/proto

go 1.26.0

tool (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc
	google.golang.org/protobuf/cmd/protoc-gen-go
)

require (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
