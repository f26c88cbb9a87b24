/**
 * Runs inside the jail: connects a loopback port of the jail's network to the Unix socket of the proxy
 * outside, while a command runs. Arguments: socket, port, program, its arguments. The exit code is the
 * command's. If the port is taken, it uses another one and names it in the command's variables. Contract:
 * uses nothing outside its body, because its source text runs in the jail.
 */
export async function forward(args: readonly string[]): Promise<void> {
  const [socket = "", port = "", program = "", ...rest] = args;
  const open = new Set<Deno.Conn>();
  const listen = (at: number) => Deno.listen({ hostname: "127.0.0.1", port: at });
  let listener: Deno.TcpListener;
  try {
    listener = listen(Number(port));
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    listener = listen(0);
  }
  const env = Object.fromEntries(
    Object.entries(Deno.env.toObject())
      .filter(([, value]) => value.endsWith(`//127.0.0.1:${port}`))
      .map(([name, value]) => [name, value.replace(/\d+$/, `${listener.addr.port}`)]),
  );
  const pump = async (from: Deno.Conn, to: Deno.Conn) => {
    const buffer = new Uint8Array(64 * 1024);
    for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
      for (let at = 0; at < count;) at += await to.write(buffer.subarray(at, count));
    }
    await to.closeWrite();
  };
  const relay = async (inner: Deno.Conn) => {
    open.add(inner);
    try {
      const outer = await Deno.connect({ transport: "unix", path: socket });
      open.add(outer);
      await Promise.allSettled([pump(inner, outer), pump(outer, inner)]);
      outer.close();
      open.delete(outer);
    } finally {
      inner.close();
      open.delete(inner);
    }
  };
  const serve = async () => {
    for await (const conn of listener) relay(conn).catch(() => {});
  };
  serve().catch(() => {});
  const { code } = await new Deno.Command(program, { args: rest, env, stdin: "inherit" }).spawn().status;
  Deno.exitCode = code;
  listener.close();
  for (const conn of open) {
    try {
      conn.close();
    } catch {
      // Already closed by its pipe.
    }
  }
}

/**
 * The command line prefix that runs {@linkcode forward} in a jail: source text, or a subcommand of a compiled
 * program.
 */
export function forwarderCommand(): string[] {
  if (Deno.build.standalone) return [Deno.execPath(), "sandbox", "forward"];
  return [Deno.execPath(), "eval", "--no-config", "--no-remote", "--no-npm", `(${forward})(Deno.args)`];
}
