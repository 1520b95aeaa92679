// Empty: it lets flush.go declare a function without a body.
