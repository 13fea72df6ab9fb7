/** What a schema does not like in a file of JSON with comments, each with its line and its field. */
import type * as z from 'zod';
import { wordIssue } from './issue.ts';
import type { Jsonc } from './jsonc.ts';

export interface JsoncProblem {
  readonly line: number;
  /** `providers.main.apiKey`; empty: the whole. */
  readonly field: string;
  readonly problem: string;
}

export function problemsIn(json: Jsonc, error: z.core.$ZodError): readonly JsoncProblem[] {
  return error.issues.flatMap((issue): JsoncProblem[] => {
    // An unknown key is reported at the object around it; its own line is more use.
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) =>
        problemAt(json, [...issue.path, key], 'there is no such setting'),
      );
    }
    return [problemAt(json, issue.path, wordIssue(issue))];
  });
}

export function problemAt(
  json: Jsonc,
  path: readonly PropertyKey[],
  problem: string,
): JsoncProblem {
  const line = json.lineAt(json.spanOf(path).start);
  return { line, field: path.map(String).join('.'), problem };
}
