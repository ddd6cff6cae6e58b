package proxycompat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

func TestTag(t *testing.T) {
	codis, twem := proxycompat.Codis32(), proxycompat.Twemproxy05()
	braces, err := twem.WithHashTag("{}")
	require.NoError(t, err)
	dollars, err := twem.WithHashTag("$$")
	require.NoError(t, err)
	for key, want := range map[string][4]string{ // codis, twemproxy, with {}, with $$
		"":          {"", "", "", ""},
		"k":         {"k", "k", "k", "k"},
		"{a}b":      {"a", "{a}b", "a", "{a}b"},
		"{}b":       {"", "{}b", "{}b", "{}b"},
		"a{}{b}c":   {"", "a{}{b}c", "a{}{b}c", "a{}{b}c"},
		"x{a}{b}":   {"a", "x{a}{b}", "a", "x{a}{b}"},
		"x$a$b":     {"x$a$b", "x$a$b", "x$a$b", "a"},
		"{a":        {"{a", "{a", "{a", "{a"},
		"}{a}":      {"a", "}{a}", "a", "}{a}"},
		"{{a}}x":    {"{a", "{{a}}x", "{a", "{{a}}x"},
		"$a{b}c$$$": {"b", "$a{b}c$$$", "b", "a{b}c"},
	} {
		for i, p := range []*proxycompat.Profile{codis, twem, braces, dollars} {
			assert.Equal(t, want[i], p.Tag(key), "%s, %d: %s", p.Name(), i, key)
		}
	}
	assert.True(t, braces.SameSlot("{a}1", "{a}2"))
	assert.False(t, twem.SameSlot("{a}1", "{a}2"), "no tag is configured")
	assert.True(t, twem.SameSlot("a", "a"))
	assert.True(t, codis.SameSlot("{}a", "{}b"), "Codis takes an empty tag for one")
	assert.True(t, proxycompat.Redis().SameSlot("a", "b"))
	assert.True(t, twem.SameSlot())
	require.NoError(t, braces.AllowTagged().Check("SINTER", "{a}1", "{a}2"))
	require.Error(t, braces.AllowTagged().Check("SINTER", "{a}1", "{b}2"))

	_, err = twem.WithHashTag("{")
	require.EqualError(t, err, `proxycompat: bad hash tag "{": want the two characters around it, as in {}`)
	_, err = codis.WithHashTag("{}")
	require.EqualError(t, err, "proxycompat: the hash tag of codis cannot be configured")
}

// The values for clusters are those of the Redis Cluster specification and of CLUSTER KEYSLOT.
func TestSlot(t *testing.T) {
	codis := proxycompat.Codis32()
	assert.Zero(t, codis.Slot("{}anything"))
	assert.Equal(t, 0xcbf43926%1024, codis.Slot("{123456789}b"), "the check value of CRC-32")
	assert.Equal(t, -1, proxycompat.Twemproxy05().Slot("a"))
	cluster, err := proxycompat.Lookup("cluster")
	require.NoError(t, err)
	for key, slot := range map[string]int{
		"123456789": 0x31c3, "a{foo}{bar}": 12182, "": 0, "foo{}{bar}": 8363, "{user1000}.following": 3443,
	} {
		assert.Equal(t, slot, cluster.Slot(key), key)
	}
}
