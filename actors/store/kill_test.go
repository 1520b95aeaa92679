package store

const childVariable = "TROUPE_TEST_CHILD"

func child() {}
