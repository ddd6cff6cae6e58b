using System;
using System.Linq;
using System.Threading.Tasks;
using StackExchange.Redis;

namespace Shop.Data
{
    public class Carts : ICarts
    {
        private static readonly Lazy<ConnectionMultiplexer> Lazy = new Lazy<ConnectionMultiplexer>(() => ConnectionMultiplexer.Connect("localhost"));
        private static ConnectionMultiplexer Connection => Lazy.Value;
        private readonly IDatabase _db;
        private readonly IConnectionMultiplexer _mux;
        private const string Text = @"db.CreateTransaction() ""quoted""
            _db.Publish(1)";

        public Carts(IConnectionMultiplexer mux, ILogger<Carts> logger)
        {
            _mux = mux ?? throw new ArgumentNullException(nameof(mux));
            _db = mux.GetDatabase();
        }

        public async Task<bool> CheckoutAsync(string id, string version)
        {
            var tran = _db.CreateTransaction(); // want MC102
            tran.AddCondition(Condition.StringEqual($"cart:{id}", version)); // want MC101
            _ = tran.StringSetAsync($"cart:{id}", "done");
            return await tran.ExecuteAsync();
        }

        public void Warm(string[] ids)
        {
            IBatch batch = _db.CreateBatch();
            foreach (var id in ids) { batch.StringGetAsync(id); }
            batch.Execute();
        }

        public async Task Announce(string id)
        {
            await _mux.GetSubscriber().PublishAsync("carts", id); // want MC202
            await _db.PublishAsync("carts", $"closed {id} {_db.Publish("x", id)}"); // want MC202 MC202
            ISubscriber sub = _mux.GetSubscriber();
            sub.Subscribe("carts", (channel, message) => // want MC201
            {
                Console.WriteLine($"{channel}: {message}");
            });
            await sub.UnsubscribeAllAsync(); // want MC201
        }

        public string[] All()
        {
            var server = Connection.GetServer("localhost", 6379);
            foreach (var endpoint in _mux.GetEndPoints())
            {
                _mux.GetServer(endpoint).FlushDatabase(); // want MC701
            }
            return server.Keys(pattern: "cart:*").Select(k => (string)k).ToArray(); // want MC401
        }

        public void Raw(IDatabaseAsync other)
        {
            _db.Execute("MULTI"); // want MC103
            _db.Execute("GET", "a");
            other.KeyRenameAsync("a", "b"); // want MC401
            var two = _mux.GetDatabase(2); // want MC603
            two.KeyRandom(); // want MC401
        }

        public RedisResult Forward(string command, params object[] args)
        {
            return _db.Execute(command, args); // want MC902
        }

        private IDatabase Db() => _mux.GetDatabase();

        public bool Take(string k) => Db().LockTake(k, "x", TimeSpan.FromSeconds(1)) && Db().CreateTransaction().Execute(); // want MC102
    }
}
