package rmw

import "context"

// WithOperation returns a ctx that names the operation which an Update or a Read is
// part of ("join", "close"), for statistics and comparisons. Like Key.Label it
// must be one of few names. It has no effect on the stored value.
func WithOperation(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, operationKey{}, name)
}

// OperationOf returns the name that [WithOperation] gave, or "".
func OperationOf(ctx context.Context) string {
	name, _ := ctx.Value(operationKey{}).(string)
	return name
}

type operationKey struct{}
