import { lazy } from "../util/lazy.ts";

/** The client library of the protocol: 60 ms and 20 MB, so only for a server that is started. */
export const loadSdk = lazy(() => import("@modelcontextprotocol/client"));
