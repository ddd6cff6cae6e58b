// Package profile has the setting of the proxy for all analyzers.
//
// # Analyzer redisprofile
//
// redisprofile: the proxy that commands are judged by
//
// It reports nothing. With its flag -profile it takes the name of a profile of
// github.com/unwatch/unwatch/proxycompat, as in codis@3.2, or the path of a file as
// proxycompat/profilefile reads it. Under go vet that has to be an absolute path, because go vet
// changes into the directory of each package. The default is codis.
package profile
