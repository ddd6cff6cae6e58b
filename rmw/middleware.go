package rmw

// Middleware wraps a Store with something that holds for every call: a log, a
// metric, a limit.
type Middleware func(Store) Store

// Chain wraps store in the given middleware. The first is outermost: it sees
// each call first.
func Chain(store Store, middleware ...Middleware) Store {
	for i := len(middleware) - 1; i >= 0; i-- {
		store = middleware[i](store)
	}
	return store
}

// As finds the outermost Store of type T in a chain: what errors.As is for
// errors. T may be a concrete type or an interface. A Store around another has a
// method Unwrap() Store, so that As can see through. As then passes over it for a
// capability that it does not implement itself, such as [Transactor].
//
//	if c, ok := rmw.As[io.Closer](store); ok {
//		err = c.Close()
//	}
func As[T any](store Store) (T, bool) {
	for store != nil {
		if t, ok := store.(T); ok {
			return t, true
		}
		u, ok := store.(interface{ Unwrap() Store })
		if !ok {
			break
		}
		store = u.Unwrap()
	}
	var none T
	return none, false
}
