/** A repository with a scripted model and a scripted user, for commits and pull requests. */
import type { GitHost } from "../../../src/commit/mod.ts";
import { nonInteractive } from "../../../src/config/mod.ts";
import { textOf } from "../../../src/core/mod.ts";
import { assemble } from "../../../src/features/mod.ts";
import { type Assembly, loadTrustedConfig } from "../../../src/run/mod.ts";
import { say, scriptedProvider } from "../../support/agent_fixture.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { git } from "../worktree/support.ts";

export interface Person {
  /** Replies of the model, in their order. */
  readonly replies?: readonly string[];
  /** Keys and texts that the user answers with, in their order; a function acts before it answers. */
  readonly answers?: readonly (string | ((stage: Stage) => Promise<string>))[];
  readonly config?: Record<string, unknown>;
  readonly environment?: Readonly<Record<string, string>>;
  /** The user's programs get the streams of the test. */
  readonly terminal?: true;
}

export interface Stage extends AsyncDisposable {
  readonly dir: string;
  readonly home: string;
  readonly temp: string;
  git(...args: string[]): Promise<string>;
  write(name: string, text: string | Uint8Array): Promise<void>;
  /** A program of the user. */
  program(name: string, script: string): Promise<void>;
  play(person: Person): Played;
}

export interface Played {
  readonly host: GitHost;
  /** Texts shown and lines reported. */
  readonly shown: string[];
  readonly questions: string[];
  /** The last message of each request to the model. */
  readonly requests: string[];
  /** Standard text of everything the user saw. */
  readonly seen: () => string;
  readonly open: () => Promise<Assembly>;
}

/** No test runs a command of the model: the jail need not be tried. */
const NO_JAIL = { sandbox: { bash: "off" as const } };

export async function makeStage(): Promise<Stage> {
  const temp = await makeTempDir();
  const [dir, home, bin] = [`${temp.path}/mein Projekt 项目`, `${temp.path}/home`, `${temp.path}/bin`];
  for (const path of [dir, home, bin]) await Deno.mkdir(path);
  const inDir = (...args: string[]) => git(dir, ...args);
  await inDir("init", "-q", "-b", "main");
  const person = "[user]\n\tname = Test\n\temail = test@example.com\n[commit]\n\tgpgsign = false\n" +
    "[maintenance]\n\tauto = false\n";
  await Deno.writeTextFile(`${dir}/.git/config`, person, { append: true });
  const closing: (() => Promise<void>)[] = [];
  const stage: Stage = {
    ...{ dir, home, temp: temp.path, git: inDir },
    async write(name, text) {
      await Deno.mkdir(`${dir}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeFile(
        `${dir}/${name}`,
        typeof text === "string" ? new TextEncoder().encode(text) : text,
      );
    },
    program: (name, script) =>
      Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 }),
    play({ replies = [], answers = [], config = {}, environment = {}, terminal }) {
      const provider = scriptedProvider(replies.map((text) => say(text)));
      const [left, shown, questions] = [[...answers], [] as string[], [] as string[]];
      const answer = async () => {
        const next = left.shift();
        return typeof next === "function" ? await next(stage) : next;
      };
      let assembly: Promise<Assembly> | undefined;
      const open = () =>
        assembly ??= (async () => {
          const paths = { cwd: dir, home, env: () => undefined };
          const loaded = nonInteractive(
            await loadTrustedConfig({ ...paths, flags: { ...NO_JAIL, ...config }, noFiles: true }, {}),
          );
          const made = await assemble({
            provider,
            paths,
            loaded,
            onAsk: "deny",
            permissionMode: "read-only",
            inMemory: true,
          });
          closing.push(async () => await made[Symbol.asyncDispose]());
          return made;
        })();
      return {
        ...{ shown, questions, open },
        get requests() {
          return provider.requests.map((messages) => messages.at(-1)?.content ?? "");
        },
        seen: () => [...shown, ...questions].join("\n"),
        host: {
          environment: {
            ...Deno.env.toObject(),
            GIT_CONFIG_GLOBAL: "/dev/null",
            GIT_CONFIG_NOSYSTEM: "1",
            HOME: temp.path,
            ...environment,
            PATH: `${bin}:${Deno.env.get("PATH")}`,
          },
          report: (line) => void shown.push(textOf(line)),
          show: (text) => void shown.push(text),
          async choose(question, entries) {
            questions.push(textOf(question));
            const key = await answer();
            return (key === "" ? entries[0] : entries.find((entry) => entry.key === key))?.value;
          },
          async prompt(question, initial) {
            questions.push(textOf(question));
            const text = await answer();
            return text === "" ? initial : text;
          },
          assembly: open,
          ...terminal ? { terminal: (run) => run() } : {},
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const close of closing) await close();
      await temp[Symbol.asyncDispose]();
    },
  };
  return stage;
}

/** Makes origin, and upstream where it is a fork, with directories that their addresses lead to. */
export async function remotes(stage: Stage, origin: string, upstream?: string): Promise<void> {
  const { git, temp, write } = stage;
  await write("a.txt", "one\n");
  await git("add", "-A");
  await git("commit", "-qm", "First");
  for (const [name, url] of [["origin", origin], ...upstream === undefined ? [] : [["upstream", upstream]]]) {
    await git("init", "-q", "--bare", "-b", "main", `${temp}/${name}.git`);
    await git("config", `remote.${name}.url`, url ?? "");
    await git("config", `remote.${name}.fetch`, `+refs/heads/*:refs/remotes/${name}/*`);
    await git("push", "-q", `${temp}/${name}.git`, "main");
    await git("update-ref", `refs/remotes/${name}/main`, "HEAD");
  }
  // Only the user's git sees that the addresses lead to directories.
  const config = [["origin", origin], ["upstream", upstream]].map(([name, url]) =>
    url === undefined ? "" : `[url "${temp}/${name}.git"]\n\tinsteadOf = ${url}\n`
  );
  await Deno.writeTextFile(`${temp}/gitconfig`, config.join(""));
}
