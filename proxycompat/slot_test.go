package proxycompat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

func TestCodisTagAndSlot(t *testing.T) {
	codis := proxycompat.Codis32()
	for key, tag := range map[string]string{
		"a": "a", "{a}b": "a", "x{a}{b}": "a", "{}a": "", "a{}{b}c": "", "{a": "{a", "}{a}": "a", "{{a}}": "{a", "": "",
	} {
		assert.Equal(t, tag, codis.Tag(key), key)
	}
	assert.Zero(t, codis.Slot("{}anything"))
	assert.Equal(t, codis.Slot("a"), codis.Slot("{a}b"))
	assert.Equal(t, 0xcbf43926%1024, codis.Slot("123456789"), "the check value of CRC-32")
	assert.Equal(t, -1, proxycompat.Twemproxy05().Slot("a"))
}

// The values are those of the Redis Cluster specification and of CLUSTER KEYSLOT.
func TestClusterSlot(t *testing.T) {
	cluster, err := proxycompat.Lookup("cluster")
	require.NoError(t, err)
	for key, slot := range map[string]int{
		"123456789": 0x31c3, "foo": 12182, "{foo}bar": 12182, "a{foo}{bar}": 12182, "": 0,
		"{}foo": cluster.Slot("{}foo"), "foo{}{bar}": 8363, "{user1000}.following": 3443,
	} {
		assert.Equal(t, slot, cluster.Slot(key), key)
	}
	assert.NotEqual(t, cluster.Slot("{}a"), cluster.Slot("{}b"), "an empty tag is none")
}

func TestTagsOfEachProxy(t *testing.T) {
	twem := proxycompat.Twemproxy05()
	braces, err := twem.WithHashTag("{}")
	require.NoError(t, err)
	dollars, err := twem.WithHashTag("$$")
	require.NoError(t, err)
	for key, want := range map[string][4]string{ // codis, twemproxy, with {}, with $$
		"k":      {"k", "k", "k", "k"},
		"{a}b":   {"a", "{a}b", "a", "{a}b"},
		"{}b":    {"", "{}b", "{}b", "{}b"},
		"x$a$b":  {"x$a$b", "x$a$b", "x$a$b", "a"},
		"{a":     {"{a", "{a", "{a", "{a"},
		"{{a}}x": {"{a", "{{a}}x", "{a", "{{a}}x"},
	} {
		for i, p := range []*proxycompat.Profile{proxycompat.Codis32(), twem, braces, dollars} {
			assert.Equal(t, want[i], p.Tag(key), "%s, %d: %s", p.Name(), i, key)
		}
	}
	assert.True(t, braces.SameSlot("{a}1", "{a}2"))
	assert.False(t, twem.SameSlot("{a}1", "{a}2"), "no tag is configured")
	assert.True(t, twem.SameSlot("a", "a"))
	assert.True(t, proxycompat.Codis32().SameSlot("{}a", "{}b"), "Codis takes an empty tag for one")
	assert.True(t, proxycompat.Redis().SameSlot("a", "b"))
	assert.True(t, twem.SameSlot())
	require.NoError(t, braces.AllowTagged().Check("SINTER", "{a}1", "{a}2"))
	require.Error(t, braces.AllowTagged().Check("SINTER", "{a}1", "{b}2"))

	_, err = twem.WithHashTag("{")
	require.EqualError(t, err, `proxycompat: bad hash tag "{": want the two characters around it, as in {}`)
	_, err = proxycompat.Codis32().WithHashTag("{}")
	require.EqualError(t, err, "proxycompat: the hash tag of codis cannot be configured")
}
