/** `parley doctor`: checks the setup of this machine. */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPostgresUrl } from '../../base/postgres/index.ts';
import { isUnix, SYSTEM } from '../../base/system/index.ts';
import { broken, check, type Finding, ok, printChecks, warning } from '../program/checks.ts';
import { coderChecks } from '../coder/checks.ts';
import { defineCommand } from '../program/command.ts';
import { dataFolder } from '../program/folders.ts';
import { reasonOf, systemCode } from '../../base/index.ts';
import { type Environment, option, toggle } from '../program/flags.ts';
import { DEFAULT_PORT, VERSION } from '../program/product.ts';
import { portNumber } from '../program/listen.ts';
import { postgresCheck, storeChecks } from '../program/store-checks.ts';

const OLDEST_NODE = [24, 16] as const;
/** A server should be able to open this many files. Each connection needs one. */
const FEW_FILES = 4096;

export default defineCommand({
  about: 'Checks the setup of this machine and says how to fix each problem.',
  flags: {
    port: option('N', `The port to check; ${DEFAULT_PORT} by default.`),
    retention: option(
      'R',
      'Show what this value of --retention would remove from the task stores; 30d,2GB by default.',
    ),
    store: option(
      'URL',
      'Also check this PostgreSQL database: postgres://USER:PASSWORD@HOST/DATABASE.',
    ),
    json: toggle('Print one JSON object.'),
  },
  examples: ['parley doctor', 'parley doctor --json | jq .checks'],

  async run({ values, typed, environment }) {
    const { store } = values;
    // PARLEY_STORE is meant for servers. If it names a store that is not in PostgreSQL, it is ignored here.
    const isChecked = store !== undefined && (typed.has('store') || isPostgresUrl(store));
    const port = portNumber('--port', values.port ?? DEFAULT_PORT);
    const folder = dataFolder(environment);
    const checks = [
      check('node', checkNode()),
      check('data folder', checkFolder(folder)),
      check('sqlite', await checkSqlite(folder)),
      ...storeChecks(folder, values.retention).map((result) => check('store', result)),
      ...(isChecked ? [check('postgres', await postgresCheck(store, values.retention))] : []),
      check('port', await checkPort(port)),
      check('secret key', checkSecretKey(environment, isChecked)),
      check('clock', checkClock()),
      check('open files', checkFiles()),
      check('proxy', checkProxy(environment)),
      ...(await coderChecks(environment)),
    ];
    return printChecks(`parley ${VERSION} on ${SYSTEM} ${process.arch}`, checks, values.json);
  },
});

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
    ? ok(process.versions.node)
    : broken(`${process.versions.node} is too old: install ${OLDEST_NODE.join('.')} or newer`);
}

function checkFolder(folder: string): Finding {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const others = isUnix ? statSync(folder).mode & 0o077 : 0;
    return others === 0
      ? ok(folder)
      : warning(`other users have access to ${folder}: run chmod 700 ${folder}`);
  } catch (error) {
    const why = reasonOf(error);
    return broken(`${folder} is not writable (${why}): set PARLEY_HOME to a writable folder`);
  }
}

/** Writes a test database in the data folder. Some network file systems do not support a write-ahead log (WAL). */
async function checkSqlite(folder: string): Promise<Finding> {
  const fix = 'use --store memory, or set PARLEY_HOME to a local disk';
  if (!existsSync(folder)) return broken(`not checked, because there is no data folder: ${fix}`);
  let place: string | undefined;
  try {
    const { DatabaseSync } = await import('node:sqlite');
    place = mkdtempSync(path.join(folder, 'doctor-'));
    const database = new DatabaseSync(path.join(place, 'test.db'));
    try {
      const mode = database.prepare('PRAGMA journal_mode = WAL').get();
      database.exec('CREATE TABLE test (a); INSERT INTO test VALUES (1)');
      const version = database.prepare('SELECT sqlite_version() AS version').get();
      return mode?.['journal_mode'] === 'wal'
        ? ok(`${String(version?.['version'])}, with WAL`)
        : broken(`no write-ahead log in ${folder}: ${fix}`);
    } finally {
      database.close();
    }
  } catch (error) {
    return broken(`${reasonOf(error)}: ${fix}`);
  } finally {
    if (place !== undefined) rmSync(place, { recursive: true, force: true });
  }
}

async function checkPort(port: number): Promise<Finding> {
  if (port === 0) return ok('0 picks a free port');
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return ok(`${port} is free`);
  } catch (error) {
    if (systemCode(error) !== 'EADDRINUSE') {
      return warning(`${port}: ${reasonOf(error)}: choose another port with --port`);
    }
    return warning(`${port} is in use by ${await agentAt(port)}: choose another port with --port`);
  } finally {
    server.close();
  }
}

async function agentAt(port: number): Promise<string> {
  const { discover } = await import('../../client/index.ts');
  try {
    const { card } = await discover(`http://127.0.0.1:${port}`, { timeoutMs: 1000 });
    return `the agent ${card.name}`;
  } catch {
    return 'another program';
  }
}

function checkSecretKey(environment: Environment, usesPostgres: boolean): Finding {
  const key = environment['PARLEY_SECRET_KEY'] ?? '';
  if (key === '' && usesPostgres) {
    return warning(
      'PARLEY_SECRET_KEY is not set, so secrets such as the credentials of webhooks cannot be stored in PostgreSQL: create one value with openssl rand -base64 32, and set it on all machines',
    );
  }
  if (key === '') {
    return ok('PARLEY_SECRET_KEY is not set: secrets are encrypted with a key in the data folder');
  }
  return key.length < 16
    ? warning('PARLEY_SECRET_KEY is too short: create one with openssl rand -base64 32')
    : ok('PARLEY_SECRET_KEY is set: secrets are encrypted at rest');
}

/**
 * Checks the clock, because timeouts, ids and the order of lists depend on it. A time more than a day before the build
 * of this program is wrong.
 */
function checkClock(): Finding {
  const now = Date.now();
  const built = statSync(fileURLToPath(import.meta.url)).mtimeMs;
  const day = 86_400_000;
  const shown = new Date(now).toISOString();
  return now + day < built
    ? broken(
        `${shown} is before the build date of this program: set the clock, for example with NTP`,
      )
    : ok(shown);
}

function checkFiles(): Finding {
  if (!isUnix) return ok('no relevant limit');
  const limit = openFileLimit();
  if (limit === undefined) return warning('the limit is unknown: check ulimit -n');
  return limit >= FEW_FILES
    ? ok(limit === Number.POSITIVE_INFINITY ? 'unlimited' : `up to ${limit}`)
    : warning(`only ${limit}, and each connection needs one: raise the limit with ulimit -n 65536`);
}

function openFileLimit(): number | undefined {
  // Without this setting, the report looks up host names. The types in @types/node do not declare it yet.
  Reflect.set(process.report, 'excludeNetwork', true);
  const report: unknown = process.report.getReport();
  const { userLimits } = report as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = userLimits?.open_files?.soft;
  if (soft === 'unlimited') return Number.POSITIVE_INFINITY;
  return typeof soft === 'number' ? soft : undefined;
}

function checkProxy(environment: Environment): Finding {
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'];
  const set = names.filter((each) => environment[each]);
  if (set.length === 0) return ok('none');
  if (environment['NODE_USE_ENV_PROXY'] !== '1') {
    return warning(`${set.join(', ')} has no effect: set NODE_USE_ENV_PROXY=1 to use the proxy`);
  }
  const spared = environment['NO_PROXY'] ?? environment['no_proxy'] ?? '';
  return /(^|,)\s*(\*|127\.0\.0\.1|localhost)\s*(,|$)/.test(spared)
    ? ok(`${set.join(', ')}, except for the hosts in NO_PROXY`)
    : warning(`${set.join(', ')} also applies to 127.0.0.1: set NO_PROXY=localhost,127.0.0.1`);
}
