import { A2AError } from '../protocol/index.ts';

/** Decodes a path segment. Throws `invalidParams`. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new A2AError('invalidParams', 'The path has an invalid percent-encoding');
  }
}
