<?php

use Predis\Client;

class Table
{
    protected $_predis;
    private $client;

    public function __construct($client)
    {
        $this->_predis = $client;
        $this->client = $client;
    }

    public function clear()
    {
        $this->_predis->keys('a*'); // want MC401
        $this->client->scan($cursor, 'a*'); // want MC401
        $this->client()->multi(); // want MC102
        $this->client->subscribe(['a'], function ($redis, $channel) {}); // want MC201
        $this->client->executeRaw(array('SET', 'a', 'b'));
        $loop = (new Client())->pubSubLoop(); // want MC201
        $loop->subscribe('a'); // want MC201
        $loop->unsubscribe(); // want MC201
    }
}
