/** What `reasonix setup` writes: the defaults as a commented file that loads as it is. */
export async function defaultConfigText(): Promise<string> {
  const text = await import("./default_config.toml", { with: { type: "text" } });
  return text.default;
}
