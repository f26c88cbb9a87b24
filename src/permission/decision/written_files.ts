import type { PathMatcher } from "../../rule/mod.ts";
import type { Evaluation } from "./approval.ts";

/** Files that this session was allowed to write, by their real paths: a script among them is judged by its content when it is run. */
export class WrittenFiles {
  readonly #paths = new Set<string>();

  /** Notes what an allowed call writes, as far as that is known beforehand. */
  add({ call, report }: Evaluation, paths: PathMatcher): void {
    for (const path of call.writes ?? []) this.#paths.add(paths.forms(path).real);
    for (const { writes, cwds } of report?.line?.commands ?? []) {
      for (const { path } of writes) {
        for (const cwd of /^[/~]/.test(path) ? [undefined] : cwds ?? []) {
          this.#paths.add(paths.forms(path, cwd).real);
        }
      }
    }
  }

  has(path: string, paths: PathMatcher): boolean {
    return this.#paths.has(paths.forms(path).real);
  }
}
