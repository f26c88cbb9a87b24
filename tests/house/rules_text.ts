import ts from "typescript";
import {
  isTest,
  lineOf,
  type Offence,
  productFiles,
  type Project,
  projectOf,
  type SourceFile,
  visitAll,
} from "./project.ts";

const BANNER = /^\s*(\/\/|\/\*+|\*)\s*([-=#*~_─═]{4,}|[-=#*~─═]{3,}.*[-=#*~─═]{3,}\s*(\*\/)?)\s*$/;
const HISTORY = /^\s*(\/\/|\*|\/\*+).*\b(TODO|FIXME|XXX|HACK)\b/;

/** Decorative comments, and notes of unfinished work. */
export function badComments(project: Project): Offence[] {
  return productFiles(project).flatMap((file) =>
    file.lines.flatMap((text, index) => {
      const line = index + 1;
      if (BANNER.test(text)) return [{ path: file.path, line, what: "banner comment" }];
      const note = HISTORY.exec(text);
      return note === null ? [] : [{ path: file.path, line, what: `${note[2]} note: do it or leave it` }];
    })
  );
}

const WIDTH = 110;

/** Lines of comment that are wider than the lines of code may be. */
export function wideComments(project: Project): Offence[] {
  return [...project.sources.values()].flatMap((file) =>
    file.lines.flatMap((text, index) =>
      text.length > WIDTH && /^\s*(\/\/|\/?\*)/.test(text)
        ? [{ path: file.path, line: index + 1, what: `comment of ${text.length} columns; at most ${WIDTH}` }]
        : []
    )
  );
}

/** A line that may hold nothing but comment. */
const COMMENT = /^\s*(\/\/|\/\*|\*)/;

interface CommentCount {
  readonly comments: number;
  readonly lines: number;
}

/** Lines of a file that hold nothing but comment, and lines that are not empty. */
function countComments(file: SourceFile): CommentCount {
  const covered = new Set<number>();
  visitAll(file.tree, (node) => {
    for (const range of ts.getLeadingCommentRanges(file.text, node.getFullStart()) ?? []) {
      const first = file.tree.getLineAndCharacterOfPosition(range.pos).line;
      const last = file.tree.getLineAndCharacterOfPosition(range.end).line;
      for (let line = first; line <= last; line++) {
        if (COMMENT.test(file.lines[line] ?? "")) covered.add(line);
      }
    }
  });
  return { comments: covered.size, lines: file.lines.filter((line) => line.trim() !== "").length };
}

/** The counts of a text by its lines alone: no comment is missed, but lines of a template may be counted. */
function countByLines(text: string): CommentCount {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return { comments: lines.filter((line) => COMMENT.test(line)).length, lines: lines.length };
}

const MOST_OF_A_FILE = 40;
const SMALL_FILE = 40;

/** Files that are mostly comment, the comments of types left out. Small files may be. */
export function talkativeFiles(project: Project): Offence[] {
  return productFiles(project).flatMap((file) => {
    const text = withoutTypes(file);
    const most = countByLines(text);
    if (most.lines <= SMALL_FILE || shareOf(most) <= MOST_OF_A_FILE) return [];
    // Few files need the tree of what remains.
    const rest = projectOf({ [file.path]: text }).sources.get(file.path) ?? file;
    const value = shareOf(countComments(rest));
    if (value <= MOST_OF_A_FILE) return [];
    return [{
      path: file.path,
      value,
      what: `${value} % of the lines are comment; at most ${MOST_OF_A_FILE} %`,
    }];
  });
}

function shareOf({ comments, lines }: CommentCount): number {
  return Math.round((100 * comments) / Math.max(lines, 1));
}

/** The text of the file without its types, whose comments are the contract. */
function withoutTypes(file: SourceFile): string {
  const kept = file.tree.statements.filter((statement) =>
    !ts.isInterfaceDeclaration(statement) && !ts.isTypeAliasDeclaration(statement)
  );
  return kept.map((statement) => statement.getFullText(file.tree)).join("");
}

/** Share of comment lines of the whole program, in percent. */
export function commentShare(project: Project): number {
  const counts = productFiles(project).map(countComments);
  const lines = counts.reduce((sum, count) => sum + count.lines, 0);
  return (100 * counts.reduce((sum, count) => sum + count.comments, 0)) / Math.max(lines, 1);
}

const SNAKE = /^[a-z0-9]+(_[a-z0-9]+)*(\.(ts|tsx|md|txt|toml|json|d\.ts))+$/;
const VAGUE = /(^|_)(utils?|helpers?|misc|common|stuff|v\d+|new|old|tmp)\.tsx?$/;

/**
 * TypeScript files, and other files next to them in src and cli, have snake_case names by their purpose.
 */
export function badFileNames(project: Project): Offence[] {
  return [...project.texts.keys()].flatMap((path) => {
    const name = path.split("/").at(-1) ?? path;
    if (!/^(src|cli)\//.test(path) && !/\.tsx?$/.test(path)) return [];
    // A catalog has the name of its language.
    if (/^src\/i18n\/[a-z]{2}-[A-Z]{2}\.json$/.test(path)) return [];
    if (!SNAKE.test(name)) return [{ path, what: "file name is not snake_case" }];
    return VAGUE.test(name) ? [{ path, what: "file name does not say what the file does" }] : [];
  });
}

/** A test's name is a sentence such as "symbol does X when Y". */
export function badTestNames(project: Project): Offence[] {
  return [...project.sources.values()].filter((file) => isTest(file.path)).flatMap((file) => {
    const found: Offence[] = [];
    visitAll(file.tree, (node) => {
      const name = testName(node, file);
      if (name === undefined) return;
      const words = name.trim().split(/\s+/).length;
      if (words >= 3 && !/^(test|should|it)\b/i.test(name) && !name.endsWith(".")) return;
      found.push({
        path: file.path,
        line: lineOf(file.tree, node),
        what: `test name ${JSON.stringify(name)} is not a sentence like "symbol does X when Y"`,
      });
    });
    return found;
  });
}

function testName(node: ts.Node, file: SourceFile): string | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  if (!["Deno.test", "sandboxTest"].includes(node.expression.getText(file.tree))) return undefined;
  const first = node.arguments[0];
  if (first === undefined) return undefined;
  if (ts.isObjectLiteralExpression(first)) {
    const name = first.properties.find((item) =>
      ts.isPropertyAssignment(item) && item.name.getText() === "name"
    );
    return name !== undefined && ts.isPropertyAssignment(name) ? textOf(name.initializer) : undefined;
  }
  return textOf(first);
}

function textOf(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  return ts.isTemplateExpression(node) ? node.getText().slice(1, -1) : undefined;
}

/** Messages of thrown errors start with a capital letter and end without a full stop. */
export function badErrorMessages(project: Project): Offence[] {
  return productFiles(project).flatMap((file) => {
    const found: Offence[] = [];
    visitAll(file.tree, (node) => {
      if (!ts.isNewExpression(node) || !/Error$/.test(node.expression.getText(file.tree))) return;
      const first = node.arguments?.[0];
      const text = first === undefined ? undefined : textOf(first);
      if (text === undefined || text === "") return;
      if (/^[a-z]/.test(text)) {
        found.push({
          path: file.path,
          line: lineOf(file.tree, node),
          what: `error message starts small: ${text}`,
        });
      }
      if (/[^.]\.$/.test(text)) {
        found.push({
          path: file.path,
          line: lineOf(file.tree, node),
          what: `error message ends in a full stop: ${text}`,
        });
      }
    });
    return found;
  });
}
