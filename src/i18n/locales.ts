/** The list of catalogues: one line per area of each language, loaded when its texts are needed. */
import type { Locale } from "./locale.ts";

const EN = {
  batch: () => import("./en/cli/batch.ts"),
  chat: () => import("./en/chat.ts"),
  composer: () => import("./en/composer.ts"),
  commands: () => import("./en/commands.ts"),
  doctor: () => import("./en/doctor.ts"),
  overlay: () => import("./en/overlay.ts"),
  import: () => import("./en/import.ts"),
  mcp_commands: () => import("./en/mcp/server_commands.ts"),
  mcp_questions: () => import("./en/mcp/asked_by_servers.ts"),
  models: () => import("./en/cli/model_tables.ts"),
  reasons: () => import("./en/reasons.ts"),
  report_commands: () => import("./en/report_commands.ts"),
  run: () => import("./en/run.ts"),
  session_commands: () => import("./en/session_commands.ts"),
  setting_commands: () => import("./en/setting_commands.ts"),
  setup: () => import("./en/setup.ts"),
  start: () => import("./en/start.ts"),
  turn_view: () => import("./en/turn_view.ts"),
};

/** The texts of each area; English is what the other languages have to match. */
export type Texts = {
  readonly [A in keyof typeof EN]: Awaited<ReturnType<(typeof EN)[A]>>["texts"];
};

type Catalogue = { readonly [A in keyof Texts]: () => Promise<{ readonly texts: Texts[A] }> };

const CATALOGUES: Readonly<Record<Locale, Catalogue>> = {
  "en": EN,
  "zh-CN": {
    batch: () => import("./zh_cn/cli/batch.ts"),
    chat: () => import("./zh_cn/chat.ts"),
    composer: () => import("./zh_cn/composer.ts"),
    commands: () => import("./zh_cn/commands.ts"),
    doctor: () => import("./zh_cn/doctor.ts"),
    overlay: () => import("./zh_cn/overlay.ts"),
    import: () => import("./zh_cn/import.ts"),
    mcp_commands: () => import("./zh_cn/mcp/server_commands.ts"),
    mcp_questions: () => import("./zh_cn/mcp/asked_by_servers.ts"),
    models: () => import("./zh_cn/cli/model_tables.ts"),
    reasons: () => import("./zh_cn/reasons.ts"),
    report_commands: () => import("./zh_cn/report_commands.ts"),
    run: () => import("./zh_cn/run.ts"),
    session_commands: () => import("./zh_cn/session_commands.ts"),
    setting_commands: () => import("./zh_cn/setting_commands.ts"),
    setup: () => import("./zh_cn/setup.ts"),
    start: () => import("./zh_cn/start.ts"),
    turn_view: () => import("./zh_cn/turn_view.ts"),
  },
};

/** Loads the texts of one area in one language, and nothing else. */
export async function loadTexts<A extends keyof Texts>(area: A, locale: Locale): Promise<Texts[A]> {
  return (await CATALOGUES[locale][area]()).texts;
}
