package radix

type Action interface{}

type EvalScript struct{}

func NewEvalScript(numKeys int, script string) EvalScript { return EvalScript{} }

func (es EvalScript) Cmd(rcv interface{}, keysAndArgs ...string) Action { return nil }
