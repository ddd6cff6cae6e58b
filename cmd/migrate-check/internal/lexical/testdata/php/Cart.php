<html><body>$redis->multi(); don't</body></html>
<?php

namespace App\Services;

use Illuminate\Support\Facades\Redis;
use Predis\Client as PredisClient;
use Predis\ClientInterface;

class Cart
{
    private \Redis $redis;
    private $predis;
    protected ?ClientInterface $client = null;

    public function __construct(\Redis $redis, private readonly PredisClient $injected)
    {
        $this->redis = $redis;
        $this->predis = new PredisClient(['host' => 'localhost']);
        // $this->redis->watch('a');
    }

    public function checkout(string $id): bool
    {
        $this->redis->watch("cart:$id"); // want MC101
        $ok = $this->redis->multi() // want MC102
            ->set("cart:$id", 'done')
            ->exec();
        if (!$ok) {
            $this->redis->unwatch(); // want MC103
        }
        $pipe = $this->redis->multi(\Redis::PIPELINE);
        $pipe->get('a');
        $pipe->exec();
        return (bool) $ok;
    }

    public function laravel(string $room)
    {
        Redis::publish('rooms', json_encode(['room' => $room])); // want MC202
        Redis::connection('cache')->subscribe(['rooms'], function ($message) { // want MC201
            echo $message;
        });
        Redis::transaction(function ($redis) use ($room) { // want MC102
            $redis->incr('a');
        });
        Redis::pipeline(function ($pipe) {
            $pipe->set('a', 1);
        });
        return Redis::keys('room:*'); // want MC401
    }

    public function predis()
    {
        $responses = $this->predis->transaction(['cas' => true, 'watch' => 'a'], function ($tx) { // want MC102 MC101
            $tx->multi(); // want MC102
            $tx->set('a', 'b');
        });
        $this->injected->blpop(['jobs'], 5); // want MC301
        $this->injected->executeRaw(['MULTI']); // want MC103
        $this->client->pipeline(function ($pipe) {
            $pipe->get('a');
        });
        $this->client->pipeline(['atomic' => true], fn ($pipe) => $pipe->get('a')); // want MC102
        $loop = $this->injected->pubSubLoop(); // want MC201
        $text = <<<EOT
            {$this->predis->get('a')} $this->redis->multi()
            EOT;
        $raw = <<<'X'
        $redis->multi();
X;
        return $this->redis->rawCommand('WATCH', 'a'); // want MC103
    }

    public function scan()
    {
        $it = null;
        while ($keys = $this->redis->scan($it, 'cart:*')) { // want MC401
            foreach ($keys as $key) {
                $this->redis->rename($key, "old:$key"); // want MC401
            }
        }
        $this->redis->eval('return 1', ['a', 'b'], 2); // want MC501
    }
}

$r = new \Redis();
$r->connect('127.0.0.1');
$r->psubscribe(['__keyevent@0__:expired'], 'handle'); // want MC201 MC203
$r->flushAll(); // want MC701
