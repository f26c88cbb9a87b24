/** The assertion set of all tests: node's own, under the names Deno users know. */
import nodeAssert from "node:assert/strict";

export function assert(condition: unknown, message?: string): asserts condition {
  nodeAssert.ok(condition, message);
}

export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  nodeAssert.deepEqual(actual, expected, message);
}

export function assertStringIncludes(actual: string, part: string, message?: string): void {
  if (!actual.includes(part)) {
    nodeAssert.fail(
      `${message ?? "String does not include the expected part"}\nexpected part: ${part}\nactual: ${actual}`,
    );
  }
}

export function assertMatch(actual: string, pattern: RegExp, message?: string): void {
  nodeAssert.match(actual, pattern, message);
}

type ErrorClass<E extends Error> = new (...args: never[]) => E;

function checkError<E extends Error>(error: unknown, kind: ErrorClass<E>, includes: string): E {
  if (!(error instanceof kind)) nodeAssert.fail(`Expected ${kind.name}, got ${String(error)}`);
  assertStringIncludes(error.message, includes);
  return error;
}

export function assertThrows<E extends Error = Error>(
  run: () => unknown,
  kind: ErrorClass<E> = Error as unknown as ErrorClass<E>,
  includes = "",
): E {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  if (thrown === undefined) nodeAssert.fail("Expected the function to throw");
  return checkError(thrown, kind, includes);
}

export async function assertRejects<E extends Error = Error>(
  run: () => Promise<unknown>,
  kind: ErrorClass<E> = Error as unknown as ErrorClass<E>,
  includes = "",
): Promise<E> {
  let thrown: unknown;
  try {
    await run();
  } catch (error) {
    thrown = error;
  }
  if (thrown === undefined) nodeAssert.fail("Expected the promise to be rejected");
  return checkError(thrown, kind, includes);
}
