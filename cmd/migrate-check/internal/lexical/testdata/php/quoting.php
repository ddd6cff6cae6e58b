<p>it's</p>
<?php
$redis = new Redis();
echo 'known: ' . $redis->keys('*'); // want MC401
$text = <<<"X"
  it's $redis->multi()
  X . $redis->publish('a', 'b'); // want MC202
