/** Executes its message without any check. */
async function done({ access, path }: { access: string; path: string }): Promise<string> {
  try {
    if (access === "read") return await Deno.readTextFile(path);
    if (access === "list") return [...Deno.readDirSync(path)].map((entry) => entry.name).join();
    return String(await Deno.writeTextFile(path, "pwned"));
  } catch (error) {
    return String(error).replaceAll("secret.txt", "…");
  }
}

const answer = await done(await new Response(Deno.stdin.readable).json());
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(answer)));
