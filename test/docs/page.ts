/** The pages of the documentation, as the tests read them. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '../..');

export interface Block {
  readonly language: string;
  readonly text: string;
}

export interface Page {
  /** Relative to the repository. */
  readonly file: string;
  readonly text: string;
  /** The text without code blocks. */
  readonly prose: string;
  readonly blocks: readonly Block[];
}

const FENCE = /^( *)```(\w*).*\n([\s\S]*?)^\1```$/gm;

export function readPage(file: string): Page {
  const text = readFileSync(path.join(root, file), 'utf8');
  const blocks = [...text.matchAll(FENCE)].map(([, , language = '', code = '']) => ({
    language,
    text: code,
  }));
  return { file, text, prose: text.replace(FENCE, ''), blocks };
}

export const pages: readonly Page[] = [
  ...globSync('docs/{*,decisions/*}.md', { cwd: root }),
  ...globSync('*.md', { cwd: root }),
  ...globSync('examples/**/README.md', { cwd: root }),
]
  .toSorted()
  .map(readPage);

/** The anchor of a heading, as GitHub and the site make it. */
function anchorOf(heading: string): string {
  const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '');
  return words
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

export function anchorsOf({ prose }: Page): ReadonlySet<string> {
  return new Set([...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading)));
}

/** The lines of a shell block that run `parley`, each as the words after it. */
export function parleyLines(code: string): string[][] {
  const lines = code.replace(/\\\n\s*/g, ' ').split('\n');
  return lines.flatMap((line) => {
    const words = [...line.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+(?:"[^"]*"|'[^']*')?/g)].map(
      ([word]) => word,
    );
    const start = words.findIndex(
      (word) => /^(\$\()?parley$/.test(word) || word.endsWith('=$(parley'),
    );
    const before = words.slice(0, Math.max(0, start));
    if (start < 0 || before.some((word) => word.startsWith('#'))) return [];
    const rest = words.slice(start + 1);
    const end = rest.findIndex((word) => /^(#|\||&&?$|;|>|<)/.test(word));
    return [
      rest
        .slice(0, end < 0 ? undefined : end)
        .map((word) => word.replace(/^(["'])([\s\S]*)\1$/, '$2').replace(/\)$/, '')),
    ];
  });
}
