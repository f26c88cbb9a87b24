/** A machine on which the built program is installed from a file or a URL as in the README. */
import { isProgramFile } from "../../cli/release/channel.ts";
import { programFile } from "./program.ts";
import { makeTempDir } from "./tool_context.ts";

export const DENO_DIRECTORY = Deno.execPath().replace(/\/[^/]*$/, "");
/** The PATH of cron jobs and hooks, without `deno`. */
export const PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin";

interface Finished {
  readonly code: number;
  readonly text: string;
}

/** A home in which nothing is installed, with a server for the program's files. */
export async function makeMachine() {
  const temp = await makeTempDir();
  const [home, work, files] = ["home", "work", "files"].map((name) => `${temp.path}/${name}`) as [
    string,
    string,
    string,
  ];
  for (const path of [home, work, `${files}/dist`]) await Deno.mkdir(path, { recursive: true });
  const program = await programFile();
  const parts = [...Deno.readDirSync(program.replace(/\/[^/]*$/, ""))].filter(({ name }) =>
    isProgramFile(name) || name === "install.js" || name === "SHA256SUMS"
  );
  for (const { name } of parts) {
    await Deno.copyFile(program.replace(/[^/]*$/, name), `${files}/dist/${name}`);
  }
  const sh = async (line: string, options: { cwd?: string; env?: Record<string, string> } = {}) => {
    const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
      args: ["-c", line],
      cwd: options.cwd ?? work,
      clearEnv: true,
      env: {
        HOME: home,
        PATH: `${DENO_DIRECTORY}:${PLAIN_PATH}`,
        DENO_DIR: `${temp.path}/deno`,
        NO_COLOR: "1",
        DENO_NO_UPDATE_CHECK: "1",
        ...options.env,
      },
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return { code, text: decoder.decode(stdout) + decoder.decode(stderr) } satisfies Finished;
  };
  return {
    home,
    work,
    files,
    command: `${home}/.deno/bin/reasonix`,
    sh,
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

export type Machine = Awaited<ReturnType<typeof makeMachine>>;

/** Serves the program's files; `asked` has the paths with their queries, in the order of the requests. */
export function serveFiles(directory: string) {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ url }) => {
    const { pathname, search } = new URL(url);
    asked.push(pathname + search);
    const body = await Deno.readFile(directory + pathname).catch(() => undefined);
    const headers = { "content-type": "text/javascript" };
    return body ? new Response(body, { headers }) : new Response("", { status: 404 });
  });
  return {
    asked,
    /** A line of the README with this server in the place of the one that it names. */
    here: (line: string) => {
      const host = `127.0.0.1:${server.addr.port}`;
      return line.replace("https://example.org", `http://${host}`).replace("example.org", host);
    },
    close: () => server.shutdown(),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
