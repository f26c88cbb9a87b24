/** One request in the form of a wire, its reply printed as it comes: the floor of a first request there. */
const headers = { "content-type": "application/json" };
const body = Deno.env.get("FLOOR_BODY") ?? "";
const response = await fetch(Deno.env.get("FLOOR_URL") ?? "", { method: "POST", headers, body });
for await (const piece of response.body ?? []) Deno.stdout.writeSync(piece);

export {};
