<?php

use App\Events\Dispatcher;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Event;
use PhpAmqpLib\Channel\AMQPChannel;
use Simps\MQTT\Client;

class Decoys
{
    private $client;
    private \Redis $redis;
    private Dispatcher $events;

    public function __construct(Client $client, \Redis $redis, Dispatcher $events)
    {
        $this->client = $client;
        $this->redis = $redis;
        $this->events = $events;
    }

    public function run(AMQPChannel $channel, \PDO $pdo, $mqtt)
    {
        # $this->redis->multi();
        /* $this->redis->watch('a'); */
        $this->client->subscribe('a');
        $this->client->publish('a', 'b');
        $this->events->subscribe('a');
        $this->events->publish('a');
        $channel->publish('a');
        $pdo->exec('MULTI');
        DB::transaction(function () {
            return 1;
        });
        Event::subscribe('a');
        $mqtt->subscribe('b');
        exec('ls');
        $ch = curl_multi_init();
        curl_multi_exec($ch, $running);
        $names = new ArrayObject();
        $names->keys();
        $this->redis->get('a');
        $this->redis->hKeys('a');
        $this->redis->sScan('a', $it);
        $p = $this->redis->pipeline();
        $p->get('a')->exec();
        $s = '$this->redis->multi()' . "it's \$this->redis->keys('*')";
    }

    public function publish($x)
    {
        return $this->publish($x);
    }
}
?>
<p>$redis->multi() isn't code; $this->redis->publish('a')</p>
