const UNITS: [string, number][] = [["d", 86400], ["h", 3600], ["min", 60], [
  "s",
  1,
]];

/** Writes a number of seconds with its two largest units ("1 h 5 min"), without those that are zero. */
export function duration(seconds: number): string {
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${name}`);
    rest -= count;
  }
  return parts.length === 0 ? "0 s" : parts.slice(0, 2).join(" ");
}
