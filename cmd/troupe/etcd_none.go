//go:build noetcdserver

package main

import "errors"

type etcdCommand struct{}

func (etcdCommand) Run() error {
	return errors.New("this binary was built without etcd (noetcdserver)")
}
