package broken

import "github.com/google/uuid"

var state = map[string]string{}

var table = map[string]string{"a": "b"}

func init() { state[table["a"]] = uuid.NewString() }
