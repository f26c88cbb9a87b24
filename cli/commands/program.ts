/** The program itself: its version, its documentation and its setup. */
import { argument, command, flag, JSON_FLAG, optional } from "../command.ts";
import { displayOf } from "../terminal/display.ts";
import { textsFor } from "../terminal/language.ts";
import { loadLicenses, loadPages } from "../terminal/pages.ts";
import { runPaths } from "../terminal/process.ts";
import { defaultConfigText, userConfigFile } from "../../src/config/mod.ts";
import { errorMessage, message, ReasonixError, usageError } from "../../src/core/mod.ts";
import { exists } from "../../src/path/probe.ts";
import { rowsText } from "../../src/reports/mod.ts";
import { suggestNames } from "../../src/util/suggest.ts";
import { VERSION } from "../../src/util/version.ts";
import { loadMarkdown, palette } from "../../src/view/mod.ts";

export const versionCommand = command({
  flags: { json: JSON_FLAG, licenses: flag("Print the licenses of the packages in the program") },
  async run({ json, licenses }) {
    if (licenses) {
      if (json) {
        throw usageError(
          message`Cannot print licenses as JSON`,
          message`leave out --json; sbom.cdx.json of a release lists the packages`,
        );
      }
      return this.process.stdout.exact(await loadLicenses());
    }
    const { deno, v8, typescript } = Deno.version;
    const { target } = Deno.build;
    this.process.stdout.exact(
      json
        ? `${JSON.stringify({ reasonix: VERSION, deno, v8, typescript, target, event_format: 1 })}\n`
        : `reasonix ${VERSION}\ndeno ${deno} (v8 ${v8}, ${target})\n`,
    );
  },
});

/**
 * On a terminal asks for a provider, tries it and adds it to the configuration; without one writes a
 * commented file.
 */
export const setupCommand = command({
  flags: { yes: flag("Write the default file without questions") },
  args: [optional(argument("File to write (default: your user config)", "path"))],
  async run({ yes }, path?: string) {
    const paths = runPaths(this);
    const file = path === undefined
      ? userConfigFile(paths)
      : path.startsWith("/")
      ? path
      : `${paths.cwd}/${path}`;
    if (!yes && Deno.stdin.isTerminal() && Deno.stdout.isTerminal()) {
      await (await import("../setup/wizard.ts")).setUp(this, { file });
      return;
    }
    if (exists(file)) {
      throw usageError(
        message`Cannot write ${file}: it exists and is not overwritten`,
        "run `reasonix setup` on a terminal to add or change a provider, or change a setting with " +
          "`reasonix config set KEY VALUE`",
      );
    }
    const text = await defaultConfigText();
    try {
      Deno.mkdirSync(file.replace(/[/\\][^/\\]*$/, "") || "/", { recursive: true, mode: 0o700 });
      Deno.writeTextFileSync(file, text, { createNew: true, mode: 0o600 });
    } catch (error) {
      throw new ReasonixError(message`Cannot write ${file}: ${errorMessage(error)}`, {
        remedy: message`name a writable place`,
      });
    }
    this.process.stdout.write(`${(await textsFor("setup", this)).wroteDefault(file)}\n`);
  },
});

export const docsCommand = command({
  args: [optional(argument("Page to print", "page"))],
  async run(_flags, name?: string) {
    const { stdout } = this.process;
    const pages = await loadPages();
    if (name === undefined) {
      const titles = Object.entries(pages).map(([key, text]) => [`  ${key}`, titleOf(text)] as const);
      return stdout.write(`Pages, to be read with reasonix docs NAME:\n${rowsText(titles)}`);
    }
    const wanted = name.toLowerCase().replace(/\.md$/, "").replace(/^.*\//, "");
    const path = name.toLowerCase().replace(/^docs\/|\.md$/g, "");
    const page = pages[path] ??
      Object.entries(pages).find(([key]) => key === wanted || key.endsWith(`/${wanted}`))?.[1];
    if (page === undefined) {
      const [guess] = suggestNames(wanted, Object.keys(pages), 1);
      const hint = guess === undefined ? "" : `did you mean ${guess}? `;
      throw usageError(
        message`Cannot find the page ${JSON.stringify(name)}`,
        message`${hint}reasonix docs lists them`,
      );
    }
    const { terminal, columns, outColor } = displayOf(this);
    const renderer = terminal
      ? await loadMarkdown({ palette: palette(outColor) }).catch(() => undefined)
      : undefined;
    await renderer?.prepare(page);
    stdout.exact(renderer ? `${renderer.render(unwrapped(page), columns()).join("\n")}\n` : page);
  },
});

const BLOCK = /^\s*(?:#|\||[-*] |\d+\. |`{3}|>|$)/;

/** The text with each paragraph on one line, so that it wraps at the width of the terminal. */
function unwrapped(text: string): string {
  const lines: string[] = [];
  let isCode = false;
  for (const line of text.split("\n")) {
    const before = lines.at(-1) ?? "";
    const isProse = !isCode && !BLOCK.test(line) && before !== "" && !/^\s*(?:#|\||`{3})/.test(before);
    if (isProse) lines[lines.length - 1] = `${before} ${line.trim()}`;
    else lines.push(line);
    if (/^\s*`{3}/.test(line)) isCode = !isCode;
  }
  return lines.join("\n");
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}
