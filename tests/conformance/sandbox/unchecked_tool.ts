/** Does what it is notified without any check of its own. */
async function done({ deed, path }: { deed: string; path: string }): Promise<string> {
  try {
    if (deed === "read") return await Deno.readTextFile(path);
    if (deed === "list") return [...Deno.readDirSync(path)].map((entry) => entry.name).join();
    return String(await Deno.writeTextFile(path, "pwned"));
  } catch (error) {
    return String(error).replaceAll("secret.txt", "…");
  }
}

const answer = await done(await new Response(Deno.stdin.readable).json());
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(answer)));
