/** The errors of a schema in a JSON file with comments, each with its line and field. */
import type * as z from 'zod';
import { wordIssue } from '../issue.ts';
import type { Jsonc } from './jsonc.ts';

export interface JsoncProblem {
  readonly line: number;
  /** `providers.main.apiKey`; empty for the whole file. */
  readonly field: string;
  readonly problem: string;
}

export function problemsIn(json: Jsonc, error: z.core.$ZodError): readonly JsoncProblem[] {
  return error.issues.flatMap((issue): JsoncProblem[] => {
    // Zod reports an unknown key at the object that contains it. The line of the key itself is more useful.
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
  return { line: json.lineOf(path), field: path.map(String).join('.'), problem };
}
