// The project uses StackExchange.Redis for all its files.
namespace Shop;

public class Feed : BackgroundService
{
    private readonly RedisHelper _redis = new RedisHelper();

    protected override async Task ExecuteAsync(CancellationToken token)
    {
        var redis = RedisHelper.Connection;
        var sub = redis.GetSubscriber();
        await sub.SubscribeAsync("a", (channel, text) => { }); // want MC201
        var publisher = _connection.GetSubscriber();
        publisher.Publish("a", "b"); // want MC202
        var change = _redis.CreateTransaction(); // want MC102
        await change.ExecuteAsync();
        _bus.Publish(new Sold());
        await _factory.CreateTransaction();
    }
}
