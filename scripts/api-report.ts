/**
 * Writes the API report: api/NAME.api.md lists what an entry point of the library exports, with the signatures, so that
 * the diff of a commit shows each change of the public API. test/surface.test.ts checks that the report is up to date.
 *
 *   npm run api
 */
import * as fs from 'node:fs';
import path from 'node:path';
import {
  emittedSurface,
  entryPoints,
  exportsOf,
  signatureOf,
  type Declaration,
} from './surface.ts';

type Surface = ReadonlyMap<string, ReadonlyMap<string, Declaration>>;

/** Returns the text of each report, by file name. */
export function apiReports(surface: Surface): Map<string, string> {
  const owners = ownersOf(surface);
  return new Map(
    [...surface].map(([entry, names]) => {
      const lines = [
        `# ${nameOf(entry)}`,
        '',
        'Written by `npm run api`: do not edit. Stability: see docs/compatibility.md.',
      ];
      const elsewhere: string[] = [];
      const own: string[] = [];
      for (const [exported, declaration] of [...names].toSorted(byName)) {
        const owner = owners.get(declaration);
        if (owner !== undefined && owner !== entry)
          elsewhere.push(`- ${exported}: \`${nameOf(owner)}\``);
        else own.push(described(exported, declaration));
      }
      if (elsewhere.length > 0)
        lines.push('', 'The same as in other entry points:', '', ...elsewhere);
      if (own.length > 0) lines.push('', '```ts', own.join('\n\n'), '```');
      const file = entry === '.' ? 'index' : entry.slice('./'.length).replaceAll('/', '-');
      return [`${file}.api.md`, `${lines.join('\n')}\n`];
    }),
  );
}

/**
 * Returns the entry point whose report shows a declaration: of those that export it, the one with the longest name. `.`
 * exports everything and never shows a declaration.
 */
function ownersOf(surface: Surface): Map<Declaration, string> {
  const owners = new Map<Declaration, string>();
  for (const [entry, names] of [...surface].toSorted(([a], [b]) => b.length - a.length)) {
    if (entry === '.') continue;
    for (const declaration of names.values()) {
      if (!owners.has(declaration)) owners.set(declaration, entry);
    }
  }
  return owners;
}

function nameOf(entry: string): string {
  return path.posix.join('parley-a2a', entry);
}

function byName([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return one < other ? -1 : 1;
}

function described(name: string, declaration: Declaration): string {
  if (declaration.includes('#')) {
    const [, declared] = declaration.split('#');
    const renamed = declared === name ? '' : `// exported as ${name}\n`;
    return renamed + signatureOf(declaration);
  }
  if (!declaration.endsWith('.d.ts')) return `export { ${name} } from '${declaration}';`;
  const members = [...exportsOf(declaration)].toSorted(byName);
  const body = members.map(([member, target]) => described(member, target)).join('\n');
  return `export namespace ${name} {\n${body.replaceAll(/^(?=.)/gm, '    ')}\n}`;
}

if (import.meta.main) {
  const root = path.resolve(import.meta.dirname, '..');
  const emitted = fs.mkdtempSync(path.join(root, '.dist-'));
  try {
    const reports = apiReports(emittedSurface(root, emitted, entryPoints(root)));
    const folder = path.join(root, 'api');
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder);
    for (const [file, text] of reports) fs.writeFileSync(path.join(folder, file), text);
  } finally {
    fs.rmSync(emitted, { recursive: true, force: true });
  }
}
