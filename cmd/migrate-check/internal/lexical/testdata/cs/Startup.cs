using Microsoft.Extensions.DependencyInjection;
using StackExchange.Redis;

namespace Shop;

public sealed class Rooms(IConnectionMultiplexer multiplexer, ISubscriber subscriber)
{
    private readonly IServer[] _servers = multiplexer.GetServers();

    public async Task CloseAsync(string room)
    {
        await subscriber.PublishAsync(RedisChannel.Literal(room), "closed"); // want MC202
        IDatabase database = multiplexer.GetDatabase();
        ITransaction transaction = database.CreateTransaction(); // want MC102
        Task set = transaction.StringSetAsync("a", "b");
        if (await transaction.ExecuteAsync().ConfigureAwait(false)) await set;
        await foreach (var key in _servers[0].KeysAsync(pattern: "a*")) { } // want MC401
        var queue = await multiplexer.GetSubscriber().SubscribeAsync("x"); // want MC201
        queue.OnMessage(m => { });
        _ = """
            database.CreateTransaction() "quoted"
            """;
    }
}
