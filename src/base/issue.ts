import type * as z from 'zod';

/** Describes a schema issue for the person who wrote the value. */
export function wordIssue(issue: z.core.$ZodIssue): string {
  // For an invalid key, the reason is in the nested issue.
  const [inner] = issue.code === 'invalid_key' ? issue.issues : [];
  if (inner) return wordIssue(inner);
  if (issue.message.endsWith(', received undefined')) return 'it is missing';
  return issue.message.replace(/^Invalid input: /, '');
}
