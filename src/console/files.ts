/**
 * The files of the built page. The build writes them to `page/` beside the program; in the repository they are in
 * `dist/parley-a2a/page/`. The first request reads them into memory.
 */
import * as fs from 'node:fs';
import path from 'node:path';
import { isObject, UNKNOWN_MEDIA_TYPE } from '../base/index.ts';

const INDEX = 'files.json';
/** The number of folders that are searched, from the folder of this file upwards. */
const MAX_LEVELS = 5;
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface PageFile {
  readonly type: string;
  readonly plain: Uint8Array;
  readonly gzip: Uint8Array | undefined;
}

export interface PageFiles {
  /** The HTML, with `%FILES%` for the path of the files and `%SERVER%` for the kind of server. */
  readonly page: string;
  readonly files: ReadonlyMap<string, PageFile>;
}

let read: PageFiles | undefined;

/** Returns the files, or undefined if the page has not been built or a field of its index is invalid. */
export function pageFiles(): PageFiles | undefined {
  if (read) return read;
  const folder = pageFolder();
  if (folder === undefined) return undefined;
  const index: unknown = JSON.parse(fs.readFileSync(path.join(folder, INDEX), 'utf8'));
  if (!isObject(index) || typeof index['page'] !== 'string' || !Array.isArray(index['files'])) {
    return undefined;
  }
  const files = new Map<string, PageFile>();
  for (const name of index['files'].map(String)) {
    const file = path.join(folder, name);
    const packed = `${file}.gz`;
    files.set(name, {
      type: TYPES[path.extname(name)] ?? UNKNOWN_MEDIA_TYPE,
      plain: fs.readFileSync(file),
      gzip: fs.existsSync(packed) ? fs.readFileSync(packed) : undefined,
    });
  }
  read = { page: index['page'], files };
  return read;
}

function pageFolder(): string | undefined {
  let at = import.meta.dirname;
  for (let level = 0; level < MAX_LEVELS; level++) {
    const found = ['page', 'dist/parley-a2a/page']
      .map((name) => path.join(at, name))
      .find((folder) => fs.existsSync(path.join(folder, INDEX)));
    if (found !== undefined) return found;
    at = path.dirname(at);
  }
  return undefined;
}
