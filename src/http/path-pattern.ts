import { A2AError } from '../protocol/index.ts';

/** Decodes a path segment. Throws `invalidParams`. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new A2AError('invalidParams', 'The path has an invalid percent-encoding');
  }
}

/** A path whose `{name}` parameters each stand for one segment, as a regular expression. */
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

/** The values of the parameters in a match of the pattern. */
export function pathValues({ names }: PathPattern, found: RegExpExecArray): Record<string, string> {
  return Object.fromEntries(names.map((name, at) => [name, decodeSegment(found[at + 1]!)]));
}
