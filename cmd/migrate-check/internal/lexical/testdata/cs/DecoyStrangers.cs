using StackExchange.Redis;
using MediatR;
class Decoy {
  void F(IDatabase db, IMediator mediator, IObservable<int> o, IMqttClient client) {
    mediator.Publish(new A()); o.Subscribe(x => {}); client.SubscribeAsync("a"); client.PublishAsync("a");
    var s = @"db.CreateTransaction(); "" x"; var r = """ db.CreateTransaction() """; var i = $"{db.StringGet("a")} db.Publish(1)";
    var t = ctx.Database.BeginTransaction(); sql.CreateTransaction2(); dict.Keys.ToList(); using var scope = new TransactionScope();
#region db.Publish("a")
#endregion
  }
}
