// Command gen turns a .proto file into Go without protoc: it compiles the file
// with protocompile and passes the result to protoc-gen-go, which it runs from
// the module that go.mod pins.
//
// It writes only into the directory named by -out, and it supports no imports
// between .proto files: the protocol is one file.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// generator is the plugin, run from the pinned protobuf module.
const generator = "google.golang.org/protobuf/cmd/protoc-gen-go"

// virtualDir stands before the file's name in the descriptor, so that the name
// is unique in the process-wide registry of generated files.
const virtualDir = "troupe/messages/wire"

func main() {
	src := flag.String("proto", "packet.proto", "the `file` to compile")
	out := flag.String("out", "pb", "the `directory` the Go file goes to")
	flag.Parse()
	if err := generate(context.Background(), *src, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate compiles the .proto file src and writes the generated Go files to
// the existing directory out.
func generate(ctx context.Context, src, out string) error {
	request, err := compile(ctx, src)
	if err != nil {
		return fmt.Errorf("compile %s: %w", src, err)
	}
	response, err := runPlugin(ctx, request)
	if err != nil {
		return fmt.Errorf("run %s: %w", generator, err)
	}
	for _, file := range response.GetFile() {
		name := filepath.Join(out, path.Base(file.GetName()))
		if err := os.WriteFile(name, []byte(file.GetContent()), 0o644); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// compile makes the plugin's request for one file, comments included.
func compile(ctx context.Context, src string) (*pluginpb.CodeGeneratorRequest, error) {
	text, err := os.ReadFile(src)
	if err != nil {
		return nil, err
	}
	name := path.Join(virtualDir, filepath.Base(src))
	compiler := protocompile.Compiler{
		Resolver: &protocompile.SourceResolver{
			Accessor: protocompile.SourceAccessorFromMap(map[string]string{name: string(text)}),
		},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, name)
	if err != nil {
		return nil, err
	}
	return &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	}, nil
}

// runPlugin speaks the plugin protocol: a request on standard input, a response
// on standard output.
func runPlugin(ctx context.Context, request *pluginpb.CodeGeneratorRequest) (*pluginpb.CodeGeneratorResponse, error) {
	input, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, "go", "run", generator)
	command.Stdin, command.Stderr = bytes.NewReader(input), &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(output, response); err != nil {
		return nil, err
	}
	if response.Error != nil {
		return nil, errors.New(response.GetError())
	}
	return response, nil
}
