/** Keeps artifacts in PostgreSQL, which several processes may share. */
import { Turns } from '../../base/index.ts';
import { isDuplicate } from '../../base/postgres/index.ts';
import type { ArtifactStore } from '../artifact.ts';
import type { SessionKey } from '../session.ts';
import {
  keyOf,
  PostgresDatabase,
  type PostgresAgentOptions,
} from '../sessions/postgres-database.ts';
import { keyText } from '../sessions/prepare.ts';
import { fromJson, StorageError } from '../storage-error.ts';
import {
  checkArtifact,
  checkArtifactKey,
  isUsers,
  MAX_VERSIONS,
  tooManyVersions,
} from './rules.ts';

const LATEST = '(SELECT max(version) FROM parley.artifacts WHERE place = $1 AND name = $2)';

const SQL = {
  save: statement(
    'save',
    `INSERT INTO parley.artifacts (place, name, version, json)
     SELECT $1, $2, coalesce(${LATEST}, -1) + 1, $3 WHERE coalesce(${LATEST}, -1) + 1 < $4
     RETURNING version`,
  ),
  load: statement(
    'load',
    `SELECT json FROM parley.artifacts
     WHERE place = $1 AND name = $2 AND version = coalesce($3, ${LATEST})`,
  ),
  names: statement('names', 'SELECT DISTINCT name FROM parley.artifacts WHERE place = $1'),
  versions: statement(
    'versions',
    'SELECT version FROM parley.artifacts WHERE place = $1 AND name = $2 ORDER BY version',
  ),
  remove: statement(
    'remove',
    'DELETE FROM parley.artifacts WHERE place = $1 AND name = $2 RETURNING version',
  ),
};

function statement(name: string, text: string) {
  return { name: `parley.artifacts_${name}`, text };
}

/**
 * Opens an artifact store in the schema `parley` of a database, and creates its tables if needed. Throws a StorageError
 * if the database cannot be used.
 *
 *   const artifacts = await postgresArtifacts('postgres://parley@localhost/parley');
 */
export async function postgresArtifacts(
  url: string,
  options: PostgresAgentOptions = {},
): Promise<ArtifactStore> {
  const database = await PostgresDatabase.open(url, options);
  const order = new Turns();

  /** Saves a version. Returns undefined if there are too many versions. */
  async function save(place: Uint8Array, name: string, json: string): Promise<number | undefined> {
    for (;;) {
      try {
        // After a lost connection, the content may be saved twice, as two versions.
        const values = [place, name, json, MAX_VERSIONS];
        const [row] = await database.write((db) => db.run<[version: number]>(SQL.save, values));
        return row?.[0];
      } catch (error) {
        // Another process has saved a version with this number at the same time, so the next attempt uses the next
        // number.
        if (!(error instanceof StorageError) || !isDuplicate(error.cause)) throw error;
      }
    }
  }

  return {
    async save(key, name, content) {
      const place = placeOf(key, name);
      checkArtifact(content);
      const json = JSON.stringify(content);
      const version = await order.run(keyText(key, name), () => save(place, name, json));
      if (version === undefined) throw tooManyVersions();
      return version;
    },
    async load(key, name, version) {
      const values = [placeOf(key, name), name, version ?? null];
      if (version !== undefined && !(Number.isInteger(version) && version < MAX_VERSIONS)) {
        return undefined;
      }
      const [row] = await database.read((db) => db.run<[json: string]>(SQL.load, values));
      return row && fromJson(`the artifact ${name}`, row[0]);
    },
    async list(key) {
      // `example` is any valid artifact name. With the prefix `user:`, the function returns the names of the user's
      // artifacts. Without it, the function returns the names of the session's artifacts.
      const names = async (example: string) => {
        const place = placeOf(key, example);
        const rows = await database.read((db) => db.run<[name: string]>(SQL.names, [place]));
        return rows.map(([name]) => name).toSorted();
      };
      return [...(await names('any')), ...(await names('user:any'))];
    },
    async versions(key, name) {
      const values = [placeOf(key, name), name];
      const rows = await database.read((db) => db.run<[version: number]>(SQL.versions, values));
      return rows.map(([version]) => version);
    },
    async delete(key, name) {
      const values = [placeOf(key, name), name];
      return (await database.write((db) => db.run(SQL.remove, values))).length > 0;
    },
    close: () => database.close(),
  };
}

/**
 * Checks the key and the name. Returns the database key of the owner of the artifact, which is the user or the session.
 */
function placeOf(key: SessionKey, name: string): Uint8Array {
  checkArtifactKey(key, name);
  const { app, user, id } = key;
  return isUsers(name) ? keyOf('user', app, user) : keyOf('session', app, user, id);
}
