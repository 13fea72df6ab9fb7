/** Finds the line and the field of each schema error in a JSON file with comments. */
import type * as z from 'zod';
import { wordIssue } from '../issue.ts';
import type { Jsonc } from './jsonc.ts';

export interface JsoncProblem {
  readonly line: number;
  /**
   * The path of the field, such as `providers.main.apiKey`, or an empty string if the problem concerns the whole
   * file.
   */
  readonly field: string;
  readonly problem: string;
}

export function problemsIn(json: Jsonc, error: z.core.$ZodError): readonly JsoncProblem[] {
  return error.issues.flatMap((issue): JsoncProblem[] => {
    // Zod reports an unknown key at the object that contains the key. The line of the key itself is more useful.
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
