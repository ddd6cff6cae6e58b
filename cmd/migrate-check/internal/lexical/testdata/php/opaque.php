<?php

use Redis;

function one(mixed $redis) { $redis->watch('k'); } // want MC101
function two(object $redis) { $redis->watch('k'); } // want MC101

class Rooms
{
    public function __construct(private readonly mixed $redis, private readonly string $redisDb) {}

    public function run(): void
    {
        $this->redis->watch('k'); // want MC101
        $this->redisDb->watch('k');
    }
}
