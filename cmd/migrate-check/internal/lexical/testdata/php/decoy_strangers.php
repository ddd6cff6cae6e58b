<html>$redis->multi();
<?php
use Predis\Client;
use PhpAmqpLib\Connection\AMQPStreamConnection;
$client = new Client();
$connection = new AMQPStreamConnection('a');
$connection->publish('a', 'b');
$pdo->exec('x');
array_keys([]);
$mysqli->multi_query('x');
DB::connection()->transaction(function () {});
$x = <<<EOT
$redis->multi();
EOT;
$y = <<<'EOT'
  $redis->multi();
  EOT;
$dispatcher->publish($event);
$em->getConnection()->exec('x');
?>
$client->multi();
