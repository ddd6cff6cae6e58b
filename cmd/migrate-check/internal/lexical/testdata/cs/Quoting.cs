using StackExchange.Redis;

public class Quoting
{
    public void F(IDatabase db)
    {
        var path = @"a\"; db.Publish("a", "b"); // want MC202
        var raw = $$"""{{db.Publish("a", "b")}} { """; db.KeyRandom(); // want MC202 MC401
        var verbatim = $@"{db.StringGet("a")} "" "; db.Publish("a", "b"); // want MC202
    }
}
