import ts from "typescript";
import { lineOf, type Offence, productFiles, type Project, type SourceFile, visitAll } from "./project.ts";

const CONSOLE = /^(console\.\w+|alert|confirm|prompt)$/;
const EXIT = /^Deno\.exit$/;
const STREAMS = /^Deno\.(stdout|stderr)$/;

function inLibrary(path: string): boolean {
  return path.startsWith("src/") || path === "mod.ts" || path.startsWith("scripts/") ||
    path.startsWith("plugins/");
}

function eachNode(file: SourceFile, judge: (node: ts.Node) => string | undefined): Offence[] {
  const found: Offence[] = [];
  visitAll(file.tree, (node) => {
    const what = judge(node);
    if (what !== undefined) found.push({ path: file.path, line: lineOf(file.tree, node), what });
  });
  return found;
}

/** Library code never prints and never exits; front ends and scripts may write to the standard streams. */
export function printsOrExits(project: Project): Offence[] {
  return productFiles(project).filter((file) => inLibrary(file.path)).flatMap((file) =>
    eachNode(file, (node) => {
      if (ts.isCallExpression(node)) {
        const callee = node.expression.getText(file.tree);
        if (CONSOLE.test(callee)) return `${callee}() belongs to cli`;
        if (EXIT.test(callee)) return "Deno.exit() belongs to cli";
      }
      if (!ts.isPropertyAccessExpression(node) || !file.path.startsWith("src/")) return undefined;
      const text = node.getText(file.tree);
      return STREAMS.test(text) && !file.path.startsWith("src/frontend/")
        ? `${text} belongs to cli`
        : undefined;
    })
  );
}

const ENTRIES = /^(cli\/main\.ts|scripts\/|plugins\/|page\/(?:main|stream)\.ts)/;

/**
 * Importing a module must do nothing but define: no calls at its top level, no exported variable that
 * changes.
 */
export function importSideEffects(project: Project): Offence[] {
  return productFiles(project).filter((file) => !ENTRIES.test(file.path)).flatMap((file) =>
    file.tree.statements.flatMap((statement) => {
      const line = lineOf(file.tree, statement);
      if (
        ts.isExpressionStatement(statement) || ts.isIfStatement(statement) || ts.isForOfStatement(statement)
      ) {
        return [{ path: file.path, line, what: "runs code when it is imported" }];
      }
      const exportsLet = ts.isVariableStatement(statement) &&
        /^export (let|var)\b/.test(statement.getText(file.tree));
      return exportsLet ? [{ path: file.path, line, what: "exports a variable that can change" }] : [];
    })
  );
}

/** A process has several sessions: what changes belongs to one of them, unless all may share it. */
export function processState(project: Project): Offence[] {
  return productFiles(project).filter((file) => file.path.startsWith("src/")).flatMap((file) =>
    file.tree.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => {
      const changes = (declarationList.flags & ts.NodeFlags.Const) === 0;
      return declarationList.declarations.filter(({ initializer, type }) =>
        changes || (collects(initializer) && !type?.getText(file.tree).startsWith("Readonly"))
      ).map(
        (declaration) => ({
          path: file.path,
          line: lineOf(file.tree, declaration),
          what: `${declaration.name.getText(file.tree)} changes while the process lives; make it a session's`,
        }),
      );
    })
  );
}

/** Reports whether a value holds an empty collection, which is there to be filled. */
function collects(value: ts.Expression | undefined): boolean {
  if (value === undefined || ts.isFunctionLike(value)) return false;
  if (ts.isNewExpression(value) && /^(Weak)?(Map|Set)$/.test(value.expression.getText())) {
    return (value.arguments?.length ?? 0) === 0;
  }
  return ts.isObjectLiteralExpression(value) &&
    value.properties.some((property) => ts.isPropertyAssignment(property) && collects(property.initializer));
}

/** Data describes a vendor; no code recognizes it by its URL. */
export function vendorSniffing(project: Project): Offence[] {
  return productFiles(project).filter((file) => file.path.startsWith("src/")).flatMap((file) =>
    eachNode(file, (node) => {
      if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
      if (!/^(includes|startsWith|endsWith|match|indexOf)$/.test(node.expression.name.text)) return undefined;
      const first = node.arguments[0];
      const host = first !== undefined && ts.isStringLiteralLike(first) &&
        /\w\.(com|cn|ai|io|net|org)\b/.test(first.text);
      return host ? `recognises ${first.getText(file.tree)} in code; describe the vendor as data` : undefined;
    })
  );
}

/**
 * The bundler writes a value that is used once, by the next statement, in place of its name, also where the
 * name is one of `using`: then nothing disposes of it.
 */
export function lostDisposals(project: Project): Offence[] {
  return productFiles(project).filter(({ path }) => !path.startsWith("scripts/")).flatMap((file) =>
    eachNode(file, (node) => {
      if (!ts.isVariableStatement(node) || !isUsing(node) || !ts.isBlock(node.parent)) return undefined;
      const name = node.declarationList.declarations[0]?.name.getText(file.tree);
      const { statements } = node.parent;
      const count = (part: readonly ts.Node[]) => {
        let found = 0;
        const visit = (within: ts.Node) => {
          if (ts.isIdentifier(within) && within.text === name) found++;
          ts.forEachChild(within, visit);
        };
        part.forEach(visit);
        return found;
      };
      const after = statements.slice(statements.indexOf(node) + 1);
      const [next] = after;
      if (!next || ts.isIterationStatement(next, false)) return undefined;
      const isLost = count(after) === 1 && count([next]) === 1;
      return isLost
        ? `the bundler drops this use of using: dispose of ${name} with try and finally`
        : undefined;
    })
  );
}

function isUsing({ declarationList: { flags } }: ts.VariableStatement): boolean {
  return (flags & ts.NodeFlags.BlockScoped) === ts.NodeFlags.Using ||
    (flags & ts.NodeFlags.BlockScoped) === ts.NodeFlags.AwaitUsing;
}
