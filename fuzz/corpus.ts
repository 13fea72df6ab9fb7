/** Recorded exchanges: the examples in the documentation and in the repository. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Json } from './values.ts';

const root = path.resolve(import.meta.dirname, '..');

function read(pattern: string): string[] {
  return globSync(pattern, { cwd: root })
    .toSorted()
    .map((file) => readFileSync(path.join(root, file), 'utf8'));
}

const DOCUMENTS = [...read('*.md'), ...read('docs/**/*.md')];

/** The blocks of code in the documentation that are marked with one of these languages. */
export function blocks(...languages: readonly string[]): string[] {
  return DOCUMENTS.flatMap((document) =>
    [...document.matchAll(/^```(\w+)\n(.*?)^```/gms)].flatMap(([, language = '', code = '']) =>
      languages.includes(language) ? [code] : [],
    ),
  );
}

/** Every JSON value in the documentation, and the recorded exchanges with their parts. */
export function recorded(): Json[] {
  const texts = [
    ...blocks('json', 'jsonc'),
    ...read('docs/**/*.json'),
    ...read('examples/*/*.json'),
  ];
  return texts.flatMap((each) => {
    try {
      const value: Json = JSON.parse(each);
      return Array.isArray(value) ? [value].concat(value) : [value];
    } catch {
      return [];
    }
  });
}

export { DOCUMENTS };
