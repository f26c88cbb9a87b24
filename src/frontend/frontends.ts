export const FRONTENDS = {
  acp: () => import("./acp/mod.ts"),
  lines: () => import("./repl/lines.ts"),
  print: () => import("./print/mod.ts"),
  repl: () => import("./repl/mod.ts"),
  sdk: () => import("./sdk/mod.ts"),
  web: () => import("./web/mod.ts"),
};
export type { SdkHost, SdkSettings } from "./sdk/mod.ts";
export type { PrinterOptions } from "./print/mod.ts";
export type { WebPage, WebPageOptions } from "./repl/mod.ts";
export type { Person } from "./session/person.ts";
