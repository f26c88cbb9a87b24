/** A repository in a temporary directory, with a Reasonix home next to it. */
import { makeTempDir } from "../../support/tool_context.ts";

export interface TestRepository extends AsyncDisposable {
  readonly dir: string;
  readonly home: string;
  write(name: string, text: string): Promise<void>;
  read(name: string): Promise<string>;
}

/** Runs git and returns what it prints; throws when it fails. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command("git", {
    args: [
      "-c",
      "user.name=Test",
      "-c",
      "user.email=test@example.com",
      "-c",
      "core.quotePath=false",
      "-c",
      "maintenance.auto=false",
      ...args,
    ],
    cwd,
    env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).output();
  if (code !== 0) throw new Error(`git ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** A repository on branch main with one commit of these files. Its path has blanks and wide characters. */
export async function makeRepository(files: Readonly<Record<string, string>>): Promise<TestRepository> {
  const temp = await makeTempDir();
  const [dir, home] = [`${temp.path}/mein Projekt 项目`, `${temp.path}/home`];
  await Deno.mkdir(dir);
  await Deno.mkdir(home);
  const write = async (name: string, text: string) => {
    await Deno.mkdir(`${dir}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${dir}/${name}`, text);
  };
  await git(dir, "init", "-q", "-b", "main");
  for (const [name, text] of Object.entries(files)) await write(name, text);
  await git(dir, "add", "-A");
  await git(dir, "commit", "-qm", "first");
  return {
    dir,
    home,
    write,
    read: (name) => Deno.readTextFile(`${dir}/${name}`),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}
