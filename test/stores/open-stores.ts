// Opens the stores of a fixture: in SQLite files of a folder, or in a PostgreSQL database.
import path from 'node:path';
import { postgresArtifacts, postgresSessions } from '../../src/agent-postgres.ts';
import { sqliteArtifacts, sqliteSessions } from '../../src/agent-sqlite.ts';
import { createGateway, postgresRegister } from '../../src/gateway.ts';
import { postgresStore } from '../../src/store-postgres.ts';
import { sqliteStore } from '../../src/store-sqlite.ts';
import type { Stores } from './contents.ts';

/** The SQLite files of a fixture. */
export const FILES = ['tasks', 'sessions', 'artifacts', 'gateway'] as const;

/** A fixture has the same key everywhere, so that its secrets can be read. */
const secretKey = 'the key of the fixtures, which protects nothing';
const KEY = { name: 'fixture', scopes: ['*'] };
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export async function inSqlite<T>(folder: string, use: (stores: Stores) => Promise<T>): Promise<T> {
  const [tasksFile = '', sessionsFile = '', artifactsFile = '', registerFile = ''] = FILES.map(
    (name) => path.join(folder, `${name}.db`),
  );
  await using open = new AsyncDisposableStack();
  const tasks = sqliteStore(tasksFile, { secretKey });
  open.defer(() => tasks.close());
  const sessions = sqliteSessions(sessionsFile);
  open.defer(() => sessions.close());
  const artifacts = sqliteArtifacts(artifactsFile);
  open.defer(() => artifacts.close());
  const gateway = createGateway({}, { registerFile, secretKey, logger: quiet });
  open.defer(() => gateway.close());
  const createKey = async () => gateway.createKey(KEY);
  return await use({ tasks, sessions, artifacts, gateway, createKey });
}

export async function inPostgres<T>(url: string, use: (stores: Stores) => Promise<T>): Promise<T> {
  await using open = new AsyncDisposableStack();
  const tasks = await postgresStore(url, { secretKey });
  open.defer(() => tasks.close());
  const sessions = await postgresSessions(url);
  open.defer(() => sessions.close());
  const artifacts = await postgresArtifacts(url);
  open.defer(() => artifacts.close());
  const store = await postgresStore(url, { secretKey });
  const register = await postgresRegister(store);
  const gateway = createGateway({}, { store, register, secretKey, logger: quiet });
  open.defer(() => gateway.close());
  const createKey = () => gateway.createSharedKey(KEY);
  return await use({ tasks, sessions, artifacts, gateway, createKey });
}
