/**
 * The official conformance suite as a separate program: `client --scenario NAME --command LINE -o DIR`.
 * Imported here and not named on a command line, so that it is fetched and pinned like other packages.
 */
import { Server } from "node:http";

// The clients of all scenarios are one process, which keeps its connections: a server does not wait for them.
const { close } = Server.prototype;
Server.prototype.close = function (done) {
  this.closeAllConnections();
  return close.call(this, done);
};

await import("@modelcontextprotocol/conformance/dist/index.js");
