import { A2AError } from '../protocol/index.ts';

/** What a segment of a path stands for. Throws `invalidParams`. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new A2AError('invalidParams', 'The path is not well-formed');
  }
}
