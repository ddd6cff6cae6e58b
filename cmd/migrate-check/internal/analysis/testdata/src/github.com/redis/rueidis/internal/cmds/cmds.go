// Package cmds has what the tests need of the builders of rueidis.
package cmds

type Builder struct{}

type Completed struct{}

type Watch struct{}

func (Watch) Key(key ...string) Watch { return Watch{} }
func (Watch) Build() Completed        { return Completed{} }

type Multi struct{}

func (Multi) Build() Completed { return Completed{} }

type Arbitrary struct{}

func (Arbitrary) Keys(keys ...string) Arbitrary { return Arbitrary{} }
func (Arbitrary) Build() Completed              { return Completed{} }

func (Builder) Watch() Watch                        { return Watch{} }
func (Builder) Multi() Multi                        { return Multi{} }
func (Builder) Arbitrary(token ...string) Arbitrary { return Arbitrary{} }
