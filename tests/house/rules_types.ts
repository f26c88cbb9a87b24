import ts from "typescript";
import { lineOf, type Offence, productFiles, type Project, visitAll } from "./project.ts";

const { SyntaxKind } = ts;

function whatIsUnsafe(node: ts.Node): string | undefined {
  if (node.kind === SyntaxKind.AnyKeyword) return "any hides a type; use unknown and narrow it";
  if (ts.isNonNullExpression(node)) return "non-null ! hides a case; handle it";
  const inner = ts.isAsExpression(node) ? node.expression : undefined;
  if (inner === undefined) return undefined;
  const core = ts.isParenthesizedExpression(inner) ? inner.expression : inner;
  const doubled = ts.isAsExpression(core) && core.type.kind === SyntaxKind.UnknownKeyword;
  return doubled ? "as unknown as forces a type; parse or narrow it" : undefined;
}

/** `any`, `as unknown as` and non-null `!` outside tests. */
export function unsafeTypes(project: Project): Offence[] {
  return productFiles(project).flatMap((file) => {
    const found: Offence[] = [];
    visitAll(file.tree, (node) => {
      const what = whatIsUnsafe(node);
      if (what !== undefined) found.push({ path: file.path, line: lineOf(file.tree, node), what });
    });
    return found;
  });
}

/** Comments that switch a checker off. */
export function silencedCheckers(project: Project): Offence[] {
  const silencer =
    /@ts-(ignore|nocheck|expect-error)|deno-lint-ignore(-file)?|deno-fmt-ignore|deno-coverage-ignore/;
  return productFiles(project).flatMap((file) =>
    file.lines.flatMap((text, index) => {
      const match = /^\s*(\/\/|\/\*)/.test(text) ? silencer.exec(text) : null;
      if (match === null || /deno-lint-ignore no-control-regex/.test(text)) return [];
      return [{ path: file.path, line: index + 1, what: `${match[0]} switches a checker off` }];
    })
  );
}
