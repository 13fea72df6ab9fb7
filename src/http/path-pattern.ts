import { A2AError } from '../protocol/index.ts';

/** Decodes a path segment. Throws `invalidParams` if its percent-encoding is invalid. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new A2AError('invalidParams', 'The path has an invalid percent-encoding');
  }
}

/** A path as a regular expression. Each `{name}` parameter matches one segment or a part of it. */
export interface PathPattern {
  readonly pattern: RegExp;
  readonly names: readonly string[];
}

export function pathPattern(path: string): PathPattern {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const literals = path
    .split(/\{\w+\}/)
    .map((text) => text.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&'));
  return { names, pattern: new RegExp(`^${literals.join('([^/]+?)')}$`) };
}

/** Returns the values of the parameters in a match of the pattern. */
export function pathValues({ names }: PathPattern, found: RegExpExecArray): Record<string, string> {
  return Object.fromEntries(names.map((name, at) => [name, decodeSegment(found[at + 1]!)]));
}
