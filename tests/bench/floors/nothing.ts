/** The cost of starting the runtime: the floor of --version and --help. */
await Deno.stdout.write(new TextEncoder().encode("nothing\n"));
