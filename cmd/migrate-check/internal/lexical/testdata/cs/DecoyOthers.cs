using System.Data;
using System.Transactions;
using MQTTnet.Client;
using Microsoft.EntityFrameworkCore;
using StackExchange.Redis;

namespace Shop
{
    public class Decoys
    {
        private readonly IDatabase _db;
        private readonly IMqttClient _mqtt;
        private readonly IEventBus _bus;
        private readonly Dictionary<string, int> _names = new();
        private readonly IDbConnection _sql;

        public Decoys(IDatabase db, IMqttClient mqtt, IEventBus bus)
        {
            _db = db;
            _mqtt = mqtt;
            _bus = bus;
        }

        public async Task Run(IObservable<string> observable, DbContext context, IMediator mediator, IProducer producer)
        {
            // _db.CreateTransaction();
            /* _db.Publish("a", "b"); */
            await _mqtt.SubscribeAsync("a");
            await _mqtt.PublishAsync("a");
            _bus.Publish(new Closed());
            _bus.Subscribe<Closed, Handler>();
            observable.Subscribe(x => Console.WriteLine(x));
            context.Database.BeginTransaction();
            context.Database.Execute("MULTI");
            await mediator.Publish(new Closed());
            foreach (var k in _names.Keys) { }
            _sql.Execute("WATCH");
            producer.CreateTransaction();
            await _db.StringGetAsync("a");
            await _db.HashKeysAsync("a");
            await _db.SetScanAsync("a").FirstAsync();
            var batch = _db.CreateBatch();
            batch.Execute();
            var s = $"{_names.Keys.Count:N0} {"_db.CreateTransaction()"}";
            var c = '"'; var d = "_db.Publish(\"";
            using var scope = new TransactionScope();
            scope.Complete();
        }

        public void Shadow(IMqttClient _db)
        {
            _db.PublishAsync("a");
            _db.CreateTransaction();
        }
    }
}
