/**
 * `deno task capture`: runs the demo on a terminal, in the chat and on the web page, and writes what they
 * show to docs/images: the terminal for dark and for light pages, the question of the page as text, too.
 * Look at the pictures before you keep them.
 */
import { startBrowser } from "../../tests/support/browser.ts";
import { say } from "../process.ts";
import { recordPage } from "./demo_page.ts";
import { DEMO_COLUMNS, FULL_COLUMNS, recordChat, recordDemo, recordFullScreen } from "./demo_screen.ts";
import { svgOf, type Theme } from "./svg.ts";

const DIRECTORY = new URL("../../docs/images/", import.meta.url);

const THEMES: Readonly<Record<string, Theme>> = {
  dark: {
    background: "#0d1117",
    border: "#30363d",
    text: "#e6edf3",
    dim: "#8b949e",
    backgrounds: {
      "added": "#12261e",
      "added-word": "#0f5323",
      "removed": "#301b1e",
      "removed-word": "#67060c",
    },
    colors: {
      red: "#ff7b72",
      green: "#3fb950",
      yellow: "#d29922",
      blue: "#58a6ff",
      magenta: "#bc8cff",
      cyan: "#39c5cf",
    },
  },
  light: {
    background: "#ffffff",
    border: "#d1d9e0",
    text: "#1f2328",
    dim: "#59636e",
    backgrounds: {
      "added": "#dafbe1",
      "added-word": "#aceebb",
      "removed": "#ffebe9",
      "removed-word": "#ffcecb",
    },
    colors: {
      red: "#cf222e",
      green: "#1a7f37",
      yellow: "#9a6700",
      blue: "#0969da",
      magenta: "#8250df",
      cyan: "#0b6e75",
    },
  },
};

const PICTURES = {
  demo: {
    lines: await recordDemo(),
    columns: DEMO_COLUMNS,
    title: "Reasonix repairs a broken project",
    description:
      "A terminal: reasonix run is asked to fix the failing tests of a project. It runs them, reads the code, edits " +
      "two files, each shown as a diff, runs the tests again, which pass, and says what was wrong.",
  },
  chat: {
    lines: await recordChat(),
    columns: DEMO_COLUMNS,
    title: "The chat of Reasonix asks before it changes a file",
    description:
      "A terminal: the chat has run the failing tests and read the code. Now it asks whether a file may be " +
      "edited: it shows the diff with line numbers, and four answers: yes, yes for this session, always, no.",
  },
  full: {
    lines: await recordFullScreen(),
    columns: FULL_COLUMNS,
    title: "The full-screen view of Reasonix",
    description:
      "A terminal: left the state of the session, in the middle the conversation, whose tests pass, and right the " +
      "changed files with the diff of the selected one; the message and a status line with keys are below.",
  },
};

await Deno.mkdir(DIRECTORY, { recursive: true });
for (const [name, picture] of Object.entries(PICTURES)) {
  for (const [theme, colours] of Object.entries(THEMES)) {
    const file = new URL(`${name}-${theme}.svg`, DIRECTORY);
    await Deno.writeTextFile(file, svgOf(picture, colours));
    say(`Wrote ${file.pathname}`);
  }
}

await using started = await startBrowser();
for await (const { name, picture, words } of recordPage(started.browser)) {
  const file = new URL(`${name}.webp`, DIRECTORY);
  await Deno.writeFile(file, picture);
  if (words !== undefined) await Deno.writeTextFile(new URL(`${name}.txt`, DIRECTORY), `${words}\n`);
  say(`Wrote ${file.pathname}`);
}
