/** Every location in the program that opens a connection, for the house rules. */

/** Files that open connections themselves, with the reason why a redirect cannot lead these elsewhere. */
export const OPENERS: Readonly<Record<string, string>> = {
  "plugins/web/fetch.ts": "The requests of the plugin web: it checks each address and judges every redirect",
  "src/util/network/fetch.ts": "The fetch of the program: it judges every redirect",
  "src/provider/network/http_client.ts": "Makes the client of an entry, which only the fetch above uses",
  "src/provider/wire/silent_host.ts": "Connects to the host of base_url and sends no request",
  "src/provider/local/local_servers.ts": "Looks whether a port of this machine is open, and sends nothing",
  "src/sandbox/network/filter_proxy.ts":
    "The proxy of jailed commands: it opens what they ask for and no more",
  "src/sandbox/network/forwarder.ts": "Connects a jailed command with that proxy, by a separate socket",
};

/**
 * Files that send requests, and the test that redirects them to another origin: the whole program
 * (tests/e2e/redirects_test.ts), their functions (tests/conformance/redirects_test.ts), or none, since they
 * are a part of each of these. A download of a release holds no key and is verified, so that it follows
 * redirects: tests/e2e/update_test.ts.
 */
export const SENDERS: Readonly<Record<string, "program" | "functions" | "all" | "download">> = {
  "cli/release/download.ts": "download",
  "cli/commands/reports.ts": "program",
  "src/reports/doctor.ts": "program",
  "src/features/telemetry/exporter.ts": "program",
  "src/mcp/oauth/http_access.ts": "functions",
  "src/mcp/oauth/sign_in.ts": "functions",
  "src/mcp/transport/http.ts": "functions",
  "src/provider/create_provider.ts": "functions",
  "src/provider/local/local_servers.ts": "functions",
  "src/provider/managed/managed_server.ts": "functions",
  "src/provider/network/command_key.ts": "functions",
  "src/provider/network/http_client.ts": "functions",
  "src/provider/wire/embeddings.ts": "functions",
  "src/provider/wire/http_stream.ts": "program",
  "src/provider/wire/queries.ts": "functions",
  "src/util/network/fetch.ts": "all",
};
