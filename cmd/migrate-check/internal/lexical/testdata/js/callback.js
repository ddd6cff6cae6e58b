var redis = require("redis"),
    client = redis.createClient(6379, "127.0.0.1"),
    util = require("util");
const { promisify } = require('util');
const keysAsync = promisify(client.keys).bind(client); // want MC401

client.watch("foo", function (err) { // want MC101
    client.get("foo", function (err, result) {
        client.multi() // want MC102
            .set("foo", result)
            .exec(function (err, results) {});
    });
});
client.batch().get("a").exec(cb);
client.send_command("SUBSCRIBE", ["a"]); // want MC201

exports.publish = function (channel, msg) {
    client.publish(channel, msg); // want MC202
};
function getClient() {
    return client;
}
getClient().MULTI(); // want MC102
