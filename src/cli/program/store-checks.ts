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
import { broken, type Finding, ok, warning } from './checks.ts';
import { usageError } from './exit.ts';
import { parseRetention, storeErrorLine } from './store-location.ts';

/** Maximum number of files that are checked. */
const MAX_FILES = 20;
const DAY_MS = 86_400_000;
/** If a file that an earlier version created has more unused space than this, the check advises to rewrite the file. */
const MUCH_FREE_BYTES = 100_000_000;

/** Checks the task stores in the data folder, without those of terminal sessions. */
export function storeChecks(folder: string, retention: string | undefined): Finding[] {
  const { maxAgeMs, maxBytes } = { ...DEFAULT_RETENTION, ...parseRetention(retention) };
  const findings: Finding[] = [];
  for (const name of names(folder).slice(0, MAX_FILES)) {
    const file = path.join(folder, name);
    try {
      const report = inspectStore(file, Date.now() - maxAgeMs);
      if (!report) continue;
      const { bytes, freeBytes, tasks, old, deadLetters, givesBack } = report;
      const removals = [
        old > 0 ? endedTasks(old, maxAgeMs) : '',
        bytes > maxBytes ? `the oldest tasks, about ${size(bytes - maxBytes)}` : '',
      ].filter((each) => each !== '');
      const plan =
        removals.length === 0
          ? 'the retention removes nothing now'
          : `a server will remove ${removals.join(', and ')}`;
      const parts = [
        `${file}: ${size(bytes)}, ${count(tasks)}`,
        plan,
        ...deadLetterText(deadLetters, file),
      ];
      const text = parts.join('; ');
      findings.push(
        !givesBack && freeBytes > MUCH_FREE_BYTES
          ? warning(
              `${text}. ${size(freeBytes)} of the file are unused, but the file does not shrink by itself: stop the server, and run sqlite3 ${file} 'PRAGMA auto_vacuum = 2; VACUUM'`,
            )
          : ok(text),
      );
    } catch (error) {
      const line = error instanceof StoreError ? storeErrorLine(error) : reasonOf(error);
      findings.push(broken(line));
    }
  }
  return findings;
}

/** Checks a task store in PostgreSQL. */
export async function postgresCheck(url: string, retention: string | undefined): Promise<Finding> {
  if (!isPostgresUrl(url)) {
    // The error does not repeat the value, which may contain a password.
    throw usageError('--store of parley doctor needs postgres://USER:PASSWORD@HOST/DATABASE');
  }
  const { maxAgeMs } = { ...DEFAULT_RETENTION, ...parseRetention(retention) };
  try {
    const report = await inspectPostgres(url, Date.now() - maxAgeMs);
    const { bytes, tasks, old, deadLetters, nodes, orphans, server } = report;
    const parts = [
      `PostgreSQL ${server}, ${report.name}: ${size(bytes)}, ${count(tasks)}`,
      nodes === 1 ? '1 node' : `${nodes} nodes`,
      ...(old > 0 ? [`a server will remove ${endedTasks(old, maxAgeMs)}`] : []),
      ...deadLetterText(deadLetters, 'URL'),
    ];
    return orphans > 0 && nodes === 0
      ? warning(
          `${parts.join('; ')}; ${count(orphans)} ${orphans === 1 ? 'waits' : 'wait'} for a server: start one with --store and this URL`,
        )
      : ok(parts.join('; '));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return broken(storeErrorLine(error));
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

function endedTasks(tasks: number, maxAgeMs: number): string {
  return `${count(tasks)} that ended more than ${maxAgeMs / DAY_MS} days ago`;
}

function deadLetterText(letters: number, store: string): string[] {
  if (letters === 0) return [];
  const counted = letters === 1 ? '1 dead letter' : `${letters} dead letters`;
  return [`${counted}, see parley push list --store ${store}`];
}

function count(tasks: number): string {
  return tasks === 1 ? '1 task' : `${tasks} tasks`;
}

function size(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
