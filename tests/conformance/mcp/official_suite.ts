/**
 * The official conformance suite as a separate program: `client --scenario NAME --command LINE -o DIR`.
 * Imported here and not named on a command line, so that it is fetched and pinned like other packages.
 */
import "@modelcontextprotocol/conformance/dist/index.js";
