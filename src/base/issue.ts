import type * as z from 'zod';

/** Describes a schema's issue to the person who wrote the value. */
export function wordIssue(issue: z.core.$ZodIssue): string {
  // For an invalid key, the issue of the key's schema says why.
  const [inner] = issue.code === 'invalid_key' ? issue.issues : [];
  if (inner) return wordIssue(inner);
  if (issue.message.endsWith(', received undefined')) return 'it is missing';
  return issue.message.replace(/^Invalid input: /, '');
}
