/**
 * The checks of `parley doctor` for task stores. They report the size, and the number of tasks that the retention will
 * remove.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { reasonOf } from '../../base/index.ts';
import { isPostgresUrl } from '../../base/postgres/index.ts';
import { inspectPostgres, inspectStore, StoreError } from '../../store/index.ts';
import { DEFAULT_RETENTION } from '../../tasks/index.ts';
import { broken, type Check, ok, warning } from './checks.ts';
import { usageError } from './exit.ts';
import { parseRetention } from './retention.ts';

/** Maximum number of files that are checked. */
const MAX_FILES = 20;
const DAY_MS = 86_400_000;
/** A file of an earlier version with more free space than this should be rewritten. */
const MUCH_FREE_BYTES = 100_000_000;

/** Returns a check for each task store in the data folder, except those of terminal sessions. */
export function storeChecks(folder: string, retention: string | undefined): Check[] {
  const { maxAgeMs, maxBytes } = { ...DEFAULT_RETENTION, ...parseRetention(retention) };
  const checks: Check[] = [];
  for (const name of names(folder).slice(0, MAX_FILES)) {
    const file = path.join(folder, name);
    try {
      const report = inspectStore(file, Date.now() - maxAgeMs);
      if (!report) continue;
      const { bytes, freeBytes, tasks, old, deadLetters, givesBack } = report;
      const removals = [
        old > 0 ? `${count(old)} that ended more than ${maxAgeMs / DAY_MS} days ago` : '',
        bytes > maxBytes ? `the oldest tasks, about ${size(bytes - maxBytes)}` : '',
      ].filter((each) => each !== '');
      const plan =
        removals.length === 0
          ? 'the retention removes nothing now'
          : `a server removes ${removals.join(', and ')}`;
      const dead =
        deadLetters === 0
          ? ''
          : `; ${deadLetters} dead ${deadLetters === 1 ? 'letter' : 'letters'}, see parley push list --store ${file}`;
      const text = `${file}: ${size(bytes)}, ${count(tasks)}; ${plan}${dead}`;
      checks.push(
        !givesBack && freeBytes > MUCH_FREE_BYTES
          ? warning(
              'store',
              `${text}. ${size(freeBytes)} are free, but the file stays as large: stop the server, and run sqlite3 ${file} 'PRAGMA auto_vacuum = 2; VACUUM'`,
            )
          : ok('store', text),
      );
    } catch (error) {
      const hint = error instanceof StoreError ? error.hint : undefined;
      checks.push(broken('store', `${reasonOf(error)}${hint === undefined ? '' : `: ${hint}`}`));
    }
  }
  return checks;
}

/** Returns a check of a task store in PostgreSQL. */
export async function postgresCheck(url: string, retention: string | undefined): Promise<Check> {
  const name = 'postgres';
  if (!isPostgresUrl(url)) {
    // What was given may have a password.
    throw usageError('--store of parley doctor needs postgres://USER:PASSWORD@HOST/DATABASE');
  }
  const { maxAgeMs } = { ...DEFAULT_RETENTION, ...parseRetention(retention) };
  try {
    const report = await inspectPostgres(url, Date.now() - maxAgeMs);
    const { bytes, tasks, old, deadLetters, nodes, orphans, server } = report;
    const parts = [
      `PostgreSQL ${server}, ${report.name}: ${size(bytes)}, ${count(tasks)}`,
      nodes === 1 ? '1 node' : `${nodes} nodes`,
      ...(old > 0
        ? [`a server removes ${count(old)} that ended more than ${maxAgeMs / DAY_MS} days ago`]
        : []),
      ...(deadLetters > 0
        ? [
            `${deadLetters} dead ${deadLetters === 1 ? 'letter' : 'letters'}, see parley push list --store URL`,
          ]
        : []),
    ];
    return orphans > 0 && nodes === 0
      ? warning(
          name,
          `${parts.join('; ')}; ${count(orphans)} wait for a server: start one with --store and this URL`,
        )
      : ok(name, parts.join('; '));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return broken(name, `${error.message}${error.hint === undefined ? '' : `: ${error.hint}`}`);
  }
}

function names(folder: string): string[] {
  try {
    const files = readdirSync(folder, { withFileTypes: true });
    return files
      .filter((each) => each.isFile() && each.name.endsWith('.db'))
      .map(({ name }) => name);
  } catch {
    // Another check reports a data folder that cannot be read.
    return [];
  }
}

function count(tasks: number): string {
  return tasks === 1 ? '1 task' : `${tasks} tasks`;
}

function size(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
