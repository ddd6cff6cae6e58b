package redis

import "context"

type Scripter interface {
	Eval(ctx context.Context, script string, keys []string, args ...interface{}) *Cmd
	EvalSha(ctx context.Context, sha1 string, keys []string, args ...interface{}) *Cmd
	ScriptLoad(ctx context.Context, script string) *StringCmd
}

type Script struct{}

func NewScript(src string) *Script          { return nil }
func NewScriptServerSHA(src string) *Script { return nil }

func (s *Script) Hash() string                                         { return "" }
func (s *Script) Load(ctx context.Context, c Scripter) *StringCmd      { return nil }
func (s *Script) Exists(ctx context.Context, c Scripter) *BoolSliceCmd { return nil }
func (s *Script) Eval(ctx context.Context, c Scripter, keys []string, args ...interface{}) *Cmd {
	return nil
}
func (s *Script) EvalSha(ctx context.Context, c Scripter, keys []string, args ...interface{}) *Cmd {
	return nil
}
func (s *Script) Run(ctx context.Context, c Scripter, keys []string, args ...interface{}) *Cmd {
	return nil
}
func (s *Script) RunRO(ctx context.Context, c Scripter, keys []string, args ...interface{}) *Cmd {
	return nil
}

func (cmdable) Eval(ctx context.Context, script string, keys []string, args ...interface{}) *Cmd {
	return nil
}
func (cmdable) EvalSha(ctx context.Context, sha1 string, keys []string, args ...interface{}) *Cmd {
	return nil
}
func (cmdable) ScriptLoad(ctx context.Context, script string) *StringCmd         { return nil }
func (cmdable) ScriptExists(ctx context.Context, hashes ...string) *BoolSliceCmd { return nil }
func (cmdable) ScriptFlush(ctx context.Context) *StatusCmd                       { return nil }

func (c *Cmd) Err() error { return nil }
