package probe

// battery lists the commands that are sent to every address, in this order: each finds the keys as the
// previous one left them. All of them succeed on a healthy Redis of a recent version.
//
// Tests check these rules for every line:
//   - No profile may mark the command as harmful to others.
//   - A command that writes names one key only, though maybe several times: a proxy that looks at the
//     first key alone would put the second one where no command finds it again. COPY alone
//     names two; its copy has the expiry of the original.
//   - It reads no other keys, and never blocks.
const battery = `
PING
SET @s 10 PX 60000
SET @@s 10 PX 60000
GET @s
ECHO probe
TIME
INFO
COMMAND COUNT
DBSIZE
ROLE
LASTSAVE
SLOWLOG LEN
CONFIG GET maxmemory
!CLUSTER INFO
ACL WHOAMI
MEMORY USAGE @s
OBJECT ENCODING @s
CLIENT ID
CLIENT GETNAME
CLIENT SETNAME probe
CLIENT SETINFO LIB-NAME probe
SCAN 0 MATCH $prefix* COUNT 1
EVAL $get 1 @s
EVALSHA $sha 1 @s
EVAL $one 0 # no key
EVAL $one 2 @s @@s # two slots
EVAL_RO $get 1 @s
EVALSHA_RO $sha 1 @s
SCRIPT LOAD $one
SCRIPT EXISTS $sha
FUNCTION STATS
UNWATCH
EXEC
DISCARD
SETNX @s 1
SETEX @s 60 10
PSETEX @s 60000 10
GETSET @s 10
APPEND @s 0
STRLEN @s
GETRANGE @s 0 1
SUBSTR @s 0 1
SETRANGE @s 0 1
INCR @s
DECR @s
INCRBY @s 2
DECRBY @s 2
INCRBYFLOAT @s 1
MSET @m 1
MSETNX @m 1
MGET @s @m
!MGET @s @@s # two slots
GETEX @m
LCS @s @m
GETDEL @m
SETBIT @b 1 1
GETBIT @b 1
BITCOUNT @b
BITPOS @b 1
BITFIELD @b GET u4 0
BITFIELD_RO @b GET u4 0
BITOP AND @b @b
EXISTS @s
TYPE @s
EXPIRE @s 60
PEXPIRE @s 60000
TTL @s
PTTL @s
EXPIRETIME @s
PEXPIRETIME @s
PERSIST @s
TOUCH @s
RENAME @s @s
RENAMENX @s @s
COPY @s @copy
DUMP @s
UNLINK @copy
DEL @copy
HSET @h f 1
HSETNX @h g 1
HMSET @h f 1
HGET @h f
HMGET @h f g
HGETALL @h
HDEL @h g
HEXISTS @h f
HINCRBY @h f 1
HINCRBYFLOAT @h f 1
HKEYS @h
HVALS @h
HLEN @h
HSTRLEN @h f
HSCAN @h 0
HRANDFIELD @h
HPEXPIRE @h 60000 FIELDS 1 f
HPTTL @h FIELDS 1 f
HGETEX @h FIELDS 1 f
HSETEX @h FIELDS 1 f 1
HPERSIST @h FIELDS 1 f
LPUSH @l a b c d e
RPUSH @l f g
LPUSHX @l h
RPUSHX @l i
LLEN @l
LRANGE @l 0 0
LINDEX @l 0
LSET @l 0 z
LINSERT @l BEFORE z y
LREM @l 1 y
LTRIM @l 0 6
LPOP @l
RPOP @l
RPOPLPUSH @l @l
LMOVE @l @l LEFT RIGHT
LMPOP 1 @l LEFT
LPOS @l a
SORT @l ALPHA
SORT_RO @l ALPHA
SADD @x a b c d e
SREM @x e
SISMEMBER @x a
SMISMEMBER @x a b
SMEMBERS @x
SCARD @x
SPOP @x
SRANDMEMBER @x
SSCAN @x 0
SMOVE @x @x a
SINTER @x @x
SUNION @x @x
SDIFF @x @x
SINTERCARD 1 @x
SINTERSTORE @x @x @x
SUNIONSTORE @x @x @x
SDIFFSTORE @x @x
ZADD @z 1 a 2 b 3 c 4 d 5 e
ZREM @z e
ZSCORE @z a
ZMSCORE @z a
ZINCRBY @z 1 a
ZCARD @z
ZCOUNT @z 1 2
ZRANGE @z 0 1
ZREVRANGE @z 0 1
ZRANGEBYSCORE @z 1 2
ZREVRANGEBYSCORE @z 2 1
ZRANGEBYLEX @z - +
ZREVRANGEBYLEX @z + -
ZLEXCOUNT @z - +
ZRANK @z a
ZREVRANK @z a
ZSCAN @z 0
ZRANDMEMBER @z
ZUNION 1 @z
ZINTER 1 @z
ZDIFF 1 @z
ZINTERCARD 1 @z
ZUNIONSTORE @z 1 @z
ZINTERSTORE @z 1 @z
ZDIFFSTORE @z 1 @z
ZRANGESTORE @z @z 0 -1
ZREMRANGEBYLEX @z [x [y
ZREMRANGEBYRANK @z 90 91
ZREMRANGEBYSCORE @z 90 91
ZPOPMIN @z
ZPOPMAX @z
ZMPOP 1 @z MIN
PFADD @p a
PFCOUNT @p
PFMERGE @p @p
GEOADD @g 13 38 a 15 37 b
GEODIST @g a b
GEOHASH @g a
GEOPOS @g a
GEORADIUS @g 15 37 200 km
GEORADIUS_RO @g 15 37 200 km
GEORADIUSBYMEMBER @g a 200 km
GEORADIUSBYMEMBER_RO @g a 200 km
GEOSEARCH @g FROMMEMBER a BYRADIUS 200 km
GEOSEARCHSTORE @g @g FROMMEMBER a BYRADIUS 200 km
XADD @t * f v
XLEN @t
XRANGE @t - +
XREVRANGE @t + -
XGROUP CREATE @t group 0
XINFO STREAM @t
XPENDING @t group
XACK @t group 0-1
XDEL @t 0-1
XTRIM @t MAXLEN 5
`

// guarded lists commands that some profile marks as harmful to others. They are sent only if the answers
// exclude that profile. See prober.allowed.
const (
	guardedSelect = "SELECT"
	guardedWatch  = "WATCH"
)

// risky lists the commands for Config.Risky. Each is sent on its own connection.
const risky = `
HELLO 2
HELLO 3
RESET
PUBLISH @channel m
SPUBLISH @channel m
SUBSCRIBE @channel
PSUBSCRIBE @channel
SSUBSCRIBE @channel
PUBSUB NUMSUB @channel
BLPOP @l 1
BRPOP @l 1
BRPOPLPUSH @l @l 1
BLMOVE @l @l LEFT RIGHT 1
BLMPOP 1 1 @l LEFT
BZPOPMIN @z 1
BZPOPMAX @z 1
BZMPOP 1 1 @z MIN
XREAD COUNT 1 STREAMS @t 0
WAIT 0 1
`
