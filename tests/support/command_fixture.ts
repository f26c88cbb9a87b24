/** Slash commands with a real session on disk, a scripted model, and a front end with scripted answers. */
import { assemble } from "../../src/features/mod.ts";
import { type Assembly, loadTrustedConfig, type TurnInput } from "../../src/run/mod.ts";
import {
  allCommands,
  type Choice,
  type CommandHost,
  type CommandScope,
  type OpenRequest,
  readCommand,
} from "../../src/command/mod.ts";
import type { Locale } from "../../src/i18n/mod.ts";
import { type Reply, say, scriptedProvider } from "./agent_fixture.ts";
import { makeTempDir } from "./tool_context.ts";

export interface CommandFixtureOptions {
  readonly replies?: readonly Reply[];
  readonly config?: string;
  readonly locale?: Locale;
  readonly env?: Readonly<Record<string, string>>;
  readonly headless?: boolean;
}

const CONFIG = `default_model = "mock"
[[providers]]
name = "mock"
kind = "openai"
base_url = "http://127.0.0.1:9"
models = ["one", "two"]
[sandbox]
bash = "off"
`;

/** A front end whose user gives these answers, in order: the label of a choice, or yes and no. */
export class CommandFixture implements CommandHost, AsyncDisposable {
  readonly said: string[] = [];
  readonly sent: TurnInput[] = [];
  readonly reopened: OpenRequest[] = [];
  readonly drafts: string[] = [];
  readonly written: string[] = [];
  readonly settings: [key: string, value: unknown][] = [];
  readonly asked: string[] = [];
  readonly answers: (string | boolean | undefined)[] = [];
  readonly locale: Locale;
  readonly headless: boolean;
  readonly dir: string;
  readonly home: string;
  hasLeft = false;
  readonly #options: CommandFixtureOptions;
  readonly #temp: AsyncDisposable;
  #assembly: Assembly | undefined;

  private constructor(options: CommandFixtureOptions, temp: AsyncDisposable & { readonly path: string }) {
    this.#options = options;
    this.#temp = temp;
    this.locale = options.locale ?? "en";
    this.headless = options.headless ?? false;
    this.dir = `${temp.path}/work`;
    this.home = `${temp.path}/home`;
  }

  static async open(options: CommandFixtureOptions = {}): Promise<CommandFixture> {
    const fixture = new CommandFixture(options, await makeTempDir());
    await Deno.mkdir(fixture.dir);
    await Deno.mkdir(fixture.home);
    await Deno.writeTextFile(`${fixture.home}/config.toml`, CONFIG + (options.config ?? ""));
    await fixture.reopen({});
    fixture.reopened.length = 0;
    return fixture;
  }

  /** Types a line. Text that is no command, and a message of a command, is a turn. */
  async type(line: string): Promise<void> {
    const found = await readCommand(line, this.scope);
    if (!found) return void await (await this.session()).run(line);
    await found.command.run(this, found.argument);
  }

  get scope(): CommandScope {
    return { locale: this.locale, session: () => this.session() };
  }

  /** Returns the messages since the last call. */
  takeSaid(): string {
    return this.said.splice(0).join("\n");
  }

  async write(name: string, text: string): Promise<void> {
    await Deno.mkdir(`${this.dir}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${this.dir}/${name}`, text);
  }

  read(name: string): Promise<string> {
    return Deno.readTextFile(`${this.dir}/${name}`);
  }

  session(): Promise<Assembly> {
    if (!this.#assembly) throw new TypeError("The session is closed");
    return Promise.resolve(this.#assembly);
  }

  commands() {
    return allCommands(this.scope);
  }

  say(text: string): void {
    this.said.push(text);
  }

  choose<T>(title: string, choices: readonly Choice<T>[]): Promise<T | undefined> {
    this.asked.push(title);
    const answer = this.answers.shift();
    const chosen = choices.find(({ label }) => typeof answer === "string" && label.includes(answer));
    return Promise.resolve(chosen?.value);
  }

  confirm(question: string): Promise<boolean> {
    this.asked.push(question);
    return Promise.resolve(this.answers.shift() === true);
  }

  prompt(question: string): Promise<string | undefined> {
    this.asked.push(question);
    const answer = this.answers.shift();
    return Promise.resolve(typeof answer === "string" ? answer : undefined);
  }

  show(title: string, text: string): Promise<void> {
    this.said.push(`${title}\n${text}`);
    return Promise.resolve();
  }

  send(text: string, rest: Omit<TurnInput, "text"> = {}): void {
    this.sent.push({ ...rest, text });
  }

  async reopen(request: OpenRequest): Promise<void> {
    await this.#assembly?.[Symbol.asyncDispose]();
    this.reopened.push(request);
    const { replies = [], env = {} } = this.#options;
    const paths = { cwd: this.dir, home: this.home, env: (name: string) => env[name] };
    const { model, offered, effort, resume, sessionId, copy } = request;
    const flags = model === undefined
      ? {}
      : { flags: { default_model: model, ...(offered ? { providers: [offered] } : {}) } };
    const loaded = await loadTrustedConfig({ ...paths, ...flags }, {});
    this.#assembly = await assemble({
      paths,
      loaded,
      provider: scriptedProvider(replies.length > 0 ? replies : [say("done")], {
        provider: "mock",
        id: model?.split("/").at(-1) ?? "one",
      }),
      ...(effort === undefined ? {} : { effort }),
      ...(resume === undefined ? {} : { resume }),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(copy ? { copy } : {}),
    });
  }

  quit(): void {
    this.hasLeft = true;
  }

  draft(text: string): void {
    this.drafts.push(text);
  }

  control(sequence: string): void {
    this.written.push(sequence);
  }

  keys(): string {
    return "- enter: send";
  }

  settingSaved(key: string, value: unknown): void {
    this.settings.push([key, value]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#assembly?.[Symbol.asyncDispose]();
    await this.#temp[Symbol.asyncDispose]();
  }
}
