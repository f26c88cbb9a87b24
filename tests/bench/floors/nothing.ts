/** What starting the runtime costs: the floor of --version and --help. */
await Deno.stdout.write(new TextEncoder().encode("nothing\n"));
