package wire

import (
	"strconv"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The hand-written tables must agree with packet.proto.
func TestCommandsMatchTheDescriptor(t *testing.T) {
	descriptor := described().ByName("Packet")
	members := descriptor.Oneofs().ByName("message").Fields()
	for number := range 1100 {
		member := members.ByNumber(protoreflect.FieldNumber(number))
		if isCommand(uint64(number)) != (member != nil) {
			t.Errorf("field %d: isCommand is %v", number, isCommand(uint64(number)))
		}
		if member == nil {
			continue
		}
		command := Command(number)
		if command.String() != string(member.Name()) {
			t.Errorf("field %d is %s, its command %v", number, member.Name(), command)
		}
		fields := member.Message().Fields()
		for inner := range 1100 {
			fd := fields.ByNumber(protoreflect.FieldNumber(inner))
			isString := fd != nil && fd.Kind() == protoreflect.StringKind
			if command.hasString(uint64(inner)) != isString {
				t.Errorf("%v field %d: hasString is %v", command, inner, !isString)
			}
		}
	}
	if CommandNone.String() != "none" || Command(39).String() != "command 39" {
		t.Errorf("odd commands are called %v and %v", CommandNone, Command(39))
	}
}

func TestOpCodeNamesAreUnique(t *testing.T) {
	seen := map[string]int32{}
	for op := int32(-1100); op <= 1100; op++ {
		name := OpCode(op).String()
		if other, ok := seen[name]; ok {
			t.Errorf("op codes %d and %d are both called %s", op, other, name)
		}
		seen[name] = op
		if op > 0 && name != strconv.Itoa(int(op)) {
			t.Errorf("the developer's op code %d is called %s", op, name)
		}
	}
	if OpCode(OpNull).String() != "NULL" || OpCode(-500).String() != "-500" {
		t.Error("odd op codes have odd names")
	}
}

// The client messages that count as built-in, with and without their inner message (realtime.md 10).
func TestBuiltIn(t *testing.T) {
	for op := int32(-1100); op <= 100; op++ {
		var bare bool
		switch op {
		case -5, -7, -10, -11, -12, -14:
			bare = true
		}
		if BuiltIn(op, CommandNone) != bare {
			t.Errorf("BuiltIn(%d, none) is %v", op, !bare)
		}
		if got, want := BuiltIn(op, CommandLogin), bare || op == 0; got != want {
			t.Errorf("BuiltIn(%d, login) is %v", op, got)
		}
		if got, want := BuiltIn(op, CommandPing), bare || op == -2; got != want {
			t.Errorf("BuiltIn(%d, ping) is %v", op, got)
		}
	}
}
