/**
 * `parley db`: creates or updates the tables in a PostgreSQL database, shows their versions and the number of tasks, or
 * copies tasks and sessions from SQLite files into the database.
 */
import { existsSync } from 'node:fs';
import { importSessions, SESSIONS, StorageError } from '../../agent/postgres/index.ts';
import { StoreError } from '../../base/index.ts';
import { isPostgresUrl, openPostgres, schemaVersions } from '../../base/postgres/index.ts';
import { REGISTER_TABLES } from '../../gateway/register/index.ts';
import { CLUSTER, importSqlite, TASKS } from '../../store/index.ts';
import { defineCommand } from '../program/command.ts';
import { EXIT, ExitError, usageError } from '../program/exit.ts';
import { createLog } from '../program/log.ts';
import { type Environment, toggle } from '../program/flags.ts';
import { secretKeyOptions, SECRET_KEY_VARIABLES } from '../program/folders.ts';
import { sessionsFile, storeErrorLine, storeLocation } from '../program/store-location.ts';
import { columns, note, say, sayJson } from '../program/terminal.ts';

const SCHEMAS = [TASKS, CLUSTER, SESSIONS, REGISTER_TABLES];
const URL_EXAMPLE = 'postgres://parley@localhost/parley';

export default defineCommand({
  operands: ['ACTION', 'URL', '[FILE]'],
  about:
    'Manages a PostgreSQL database. The action migrate creates or updates the tables; servers also do this when they start. The action status shows the versions of the tables and the number of tasks; the exit code is 1 unless all tables are up to date. The action import copies the tasks of a SQLite file (sqlite:PATH), and the sessions that are stored beside it, to an empty database. If the import is interrupted, run it again: it continues.',
  flags: { json: toggle('Print JSON.') },
  variables: SECRET_KEY_VARIABLES,
  examples: [
    `parley db migrate ${URL_EXAMPLE}`,
    `parley db status ${URL_EXAMPLE}?sslmode=verify-full`,
    `parley db import ${URL_EXAMPLE} sqlite:tasks.db`,
  ],

  async run({ operands: [action, url = '', file], values, environment }) {
    if (action !== 'migrate' && action !== 'status' && action !== 'import') {
      throw usageError(`unknown action "${action}": use parley db migrate, status or import`);
    }
    if (!isPostgresUrl(url)) {
      // The error does not repeat the value, which may contain a password.
      throw usageError(
        `parley db ${action} needs the URL of a PostgreSQL database, such as ${URL_EXAMPLE}`,
      );
    }
    if ((file !== undefined) !== (action === 'import')) {
      throw usageError(
        `parley db ${action} needs ${action === 'import' ? 'the SQLite file' : 'only the URL'}, for example: parley db ${action} ${URL_EXAMPLE}${action === 'import' ? ' sqlite:tasks.db' : ''}`,
      );
    }
    try {
      if (action === 'status') return await status(url, values.json);
      if (action === 'migrate') return await migrate(url, values.json);
      return await copy(url, file, environment, values.json);
    } catch (error) {
      if (!(error instanceof StoreError || error instanceof StorageError)) throw error;
      const line = error instanceof StoreError ? storeErrorLine(error) : error.message;
      throw new ExitError(EXIT.failed, line, { cause: error });
    }
  },
});

async function migrate(url: string, json: boolean): Promise<void> {
  await using db = await openPostgres(url, { schemas: [], poolSize: 1 });
  const before = await db.migrate(SCHEMAS);
  if (json) {
    const tables = before.map(({ name, stored, known }) => ({ name, from: stored, to: known }));
    return sayJson({ tables });
  }
  const changed = before.filter(({ stored, known }) => stored < known);
  if (changed.length === 0) say('The tables are up to date.');
  for (const { name, stored, known } of changed) say(`${name}: version ${stored} → ${known}`);
}

async function status(url: string, json: boolean): Promise<number> {
  await using db = await openPostgres(url, { schemas: [], poolSize: 1 });
  const versions = await schemaVersions(db, SCHEMAS);
  const hasTasks = versions.some(({ name, stored }) => name === TASKS.name && stored > 0);
  const counts = hasTasks
    ? await db.query<{ state: string; n: number }>(
        `SELECT state, sum(n)::bigint AS n FROM parley.counters
         GROUP BY state HAVING sum(n) <> 0 ORDER BY state`,
      )
    : [];
  const [size] = await db.query<{ bytes: number; server: string }>(
    `SELECT pg_database_size(current_database()) AS bytes, current_setting('server_version') AS server`,
  );
  const isCurrent = versions.every(({ stored, known }) => stored === known);
  const code = isCurrent ? EXIT.done : EXIT.failed;
  if (json) {
    const tasks = Object.fromEntries(counts.map(({ state, n }) => [state, n]));
    sayJson({ server: size?.server, bytes: size?.bytes, tables: versions, tasks });
    return code;
  }
  say(`PostgreSQL ${size?.server}, ${db.name}: ${((size?.bytes ?? 0) / 1e6).toFixed(1)} MB`);
  const rows = versions.map(({ name, stored, known }) => {
    if (stored === known) return [name, `version ${stored}`, 'up to date'];
    const advice = stored < known ? 'run parley db migrate' : 'newer than this program';
    return [name, `version ${stored}, this program has ${known}`, advice];
  });
  for (const line of columns(rows)) say(line);
  const tasks = counts.map(({ state, n }) => `${n} ${state}`);
  if (hasTasks) say(`Tasks: ${tasks.length === 0 ? 'none' : tasks.join(', ')}`);
  return code;
}

async function copy(
  url: string,
  file: string | undefined,
  environment: Environment,
  json: boolean,
): Promise<void> {
  const place = storeLocation({ store: file }, environment, '');
  if (place.kind !== 'sqlite')
    throw usageError('parley db import copies a SQLite file: use sqlite:PATH');
  const keys = secretKeyOptions(environment);
  const { secretKeyFile: _, ...to } = keys;
  const { tasks, already } = await importSqlite(place.file, url, {
    from: keys,
    to,
    logger: createLog(environment),
    onProgress: (done) => {
      if (!json && process.stderr.isTTY) note(`${done} tasks`);
    },
  });
  const sessionFile = sessionsFile(place.file);
  const sessions = existsSync(sessionFile) ? await importSessions(sessionFile, url) : 0;
  if (json) sayJson({ tasks, sessions });
  else {
    const done = `The database has all ${tasks} tasks and ${sessions} sessions of ${place.file}.`;
    say(already ? `The tasks were already imported. ${done}` : done);
  }
}
