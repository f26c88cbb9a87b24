import { isKnown } from "../../rule/mod.ts";
import type { Segment } from "./line.ts";

/** How many words name what a program does, for programs whose further words cannot make it run something else. */
const DEPTH: Readonly<Record<string, number>> = {
  "go build": 2,
  "go test": 2,
  "go vet": 2,
  "go fmt": 2,
  "go mod": 2,
  "go list": 2,
  "npm run": 3,
  "npm test": 2,
  "npm ci": 2,
  "npm install": 2,
  "pnpm run": 3,
  "pnpm install": 2,
  "pnpm test": 2,
  "yarn run": 3,
  "yarn install": 2,
  "yarn test": 2,
  "bun run": 3,
  "bun test": 2,
  "deno task": 3,
  "deno test": 2,
  "deno check": 2,
  "deno lint": 2,
  "deno fmt": 2,
  "cargo build": 2,
  "cargo test": 2,
  "cargo check": 2,
  "cargo clippy": 2,
  "cargo fmt": 2,
  "git add": 2,
  "git commit": 2,
  "git status": 2,
  "git diff": 2,
  "git log": 2,
  "git show": 2,
  "git fetch": 2,
  "git stash": 2,
  "docker ps": 2,
  "docker logs": 2,
  "kubectl get": 2,
  "kubectl describe": 2,
  "dotnet build": 2,
  "dotnet test": 2,
  "mvn test": 2,
  "gradle test": 2,
  "pip list": 2,
  "pip show": 2,
};
const SINGLE: ReadonlySet<string> = new Set(
  ("pytest tsc eslint prettier jest vitest mocha ruff black mypy flake8 gofmt rustfmt rspec phpunit shellcheck mkdir touch ls cat grep rg " +
    "head tail wc tree jq diff").split(" "),
);

/** The words of a conservative prefix rule for a line of one plain command; undefined when none is safe to offer. */
export function commandPrefix(segments: readonly Segment[]): readonly string[] | undefined {
  const [segment] = segments;
  if (!segment || segments.length !== 1 || segment.views.length !== 1) return undefined;
  if (segment.opaque !== undefined || segment.guarded !== undefined || segment.risk !== undefined) {
    return undefined;
  }
  const argv = segment.views[0]?.argv ?? [];
  const depth = DEPTH[argv.slice(0, 2).join(" ")] ?? (SINGLE.has(argv[0] ?? "") ? 1 : 0);
  const words = argv.slice(0, depth);
  return depth > 0 && words.length === depth &&
      words.every((word) => isKnown(word) && /^[\w:./-]+$/.test(word))
    ? words
    : undefined;
}
