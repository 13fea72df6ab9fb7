/** What a schema does not like, in words for whoever wrote the value. */
import type * as z from 'zod';

export function wordIssue(issue: z.core.$ZodIssue): string {
  // What is wrong with a name is what the schema of names says.
  const [inner] = issue.code === 'invalid_key' ? issue.issues : [];
  if (inner) return wordIssue(inner);
  if (issue.message.endsWith(', received undefined')) return 'it is missing';
  return issue.message.replace(/^Invalid input: /, '');
}
