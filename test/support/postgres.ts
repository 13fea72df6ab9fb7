/**
 * PostgreSQL for tests. The test files of one run share a server, which the first of them starts. With `DATABASE_URL`,
 * that server is used instead. Each test gets a database of its own.
 *
 *   const { url, drop } = await testDatabase();
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  /** Runs a statement on a connection of its own. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Removes the database. Open connections are cut. */
  drop(): Promise<void>;
}

const START_MS = 60_000;

let server: Promise<string> | undefined;

/** Creates an empty database. */
export async function testDatabase(): Promise<TestDatabase> {
  const main = await (server ??= serverUrl());
  const name = `parley_test_${randomBytes(6).toString('hex')}`;
  await once(main, `CREATE DATABASE ${name}`);
  const url = new URL(main);
  url.pathname = `/${name}`;
  const drop = async () => void (await once(main, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  return {
    url: url.href,
    query: (text, values) => once(url.href, text, values),
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

async function once(url: string, text: string, values?: unknown[]) {
  const client = new pg.Client(url);
  // Another test may cut the connection.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the URL of the run's server, and starts the server if no other file has done so. */
async function serverUrl(): Promise<string> {
  const given = process.env['DATABASE_URL'];
  if (given) return given;
  // All files of a run are children of the same runner.
  const runner = process.ppid;
  const folder = join(tmpdir(), `parley-postgres-${runner}`);
  try {
    mkdirSync(folder);
    const program = join(import.meta.dirname, 'postgres-server.ts');
    const args = [program, folder, String(runner)];
    spawn(process.execPath, args, { detached: true, stdio: 'ignore', cwd: '/' }).unref();
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    const failed = join(folder, 'error');
    if (existsSync(failed)) throw new Error(readFileSync(failed, 'utf8'));
    const url = join(folder, 'url');
    if (existsSync(url)) return readFileSync(url, 'utf8');
    await setTimeout(20);
  }
  throw new Error('PostgreSQL did not start in time');
}
