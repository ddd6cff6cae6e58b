// Package redis has some of go-zero's signatures.
package redis

import "context"

type Redis struct{}

type Script struct{}

func NewScript(script string) *Script { return nil }

func (s *Redis) Publish(channel string, message any) (int64, error)                   { return 0, nil }
func (s *Redis) PublishCtx(ctx context.Context, channel string, m any) (int64, error) { return 0, nil }
func (s *Redis) Pipelined(fn func(any) error) error                                   { return nil }
func (s *Redis) TxPipeline() (any, error)                                             { return nil, nil }
func (s *Redis) Hgetall(key string) (map[string]string, error)                        { return nil, nil }
func (s *Redis) Do(args ...any) (any, error)                                          { return nil, nil }
func (s *Redis) DoCtx(ctx context.Context, args ...any) (any, error)                  { return nil, nil }
func (s *Redis) ScriptRun(script *Script, keys []string, args ...any) (any, error)    { return nil, nil }
func (s *Redis) ScriptRunCtx(ctx context.Context, script *Script, keys []string, args ...any) (any, error) {
	return nil, nil
}
