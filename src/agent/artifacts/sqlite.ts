/** Keeps artifacts in a SQLite file. Several processes may share the file. The file may also contain sessions. */
import type { ArtifactStore } from '../artifact.ts';
import type { SessionKey } from '../session.ts';
import { Database, type SqliteOptions } from '../sessions/database.ts';
import { fromJson } from '../storage-error.ts';
import {
  checkArtifact,
  checkArtifactKey,
  isUsers,
  MAX_VERSIONS,
  tooManyVersions,
} from './rules.ts';

/**
 * Opens an artifact store in a file. Creates the file if it does not exist. Throws a StorageError if the file cannot
 * be used.
 *
 *   const artifacts = sqliteArtifacts('/var/lib/parley/agent.db');
 */
export function sqliteArtifacts(path: string, options: SqliteOptions = {}): ArtifactStore {
  const db = new Database(path, options);
  const sql = db.prepareAll(prepare);

  function latest(place: Place, name: string): number {
    return Number(sql.latest.get(...place, name)?.['version'] ?? -1);
  }

  return {
    async save(key, name, content) {
      const place = placeOf(key, name);
      checkArtifact(content);
      const json = JSON.stringify(content);
      return db.write(() => {
        const version = latest(place, name) + 1;
        if (version >= MAX_VERSIONS) throw tooManyVersions();
        sql.insert.run(...place, name, version, json);
        return version;
      });
    },
    async load(key, name, version) {
      const place = placeOf(key, name);
      return db.read(() => {
        const row = sql.load.get(...place, name, version ?? latest(place, name));
        return row && fromJson(`the artifact ${name}`, String(row['json']));
      });
    },
    async list(key) {
      // `example` is any valid artifact name. With the prefix `user:`, the function returns the names of the user's
      // artifacts. Without it, the function returns the names of the session's artifacts.
      const names = (example: string) => {
        const rows = sql.names.all(...placeOf(key, example));
        return rows.map((row) => String(row['name'])).toSorted();
      };
      return db.read(() => [...names('any'), ...names('user:any')]);
    },
    async versions(key, name) {
      const rows = db.read(() => sql.versions.all(...placeOf(key, name), name));
      return rows.map((row) => Number(row['version']));
    },
    async delete(key, name) {
      return db.write(() => sql.remove.run(...placeOf(key, name), name).changes !== 0);
    },
    async close() {
      db.close();
    },
  };
}

function prepare(db: Database) {
  const where = 'WHERE app = ? AND user = ? AND session_id = ?';
  return {
    insert: db.prepare(
      `INSERT INTO artifacts (app, user, session_id, name, version, json)
       VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    load: db.prepare(`SELECT json FROM artifacts ${where} AND name = ? AND version = ?`),
    latest: db.prepare(`SELECT max(version) AS version FROM artifacts ${where} AND name = ?`),
    names: db.prepare(`SELECT DISTINCT name FROM artifacts ${where}`),
    versions: db.prepare(`SELECT version FROM artifacts ${where} AND name = ? ORDER BY version`),
    remove: db.prepare(`DELETE FROM artifacts ${where} AND name = ?`),
  };
}

type Place = [app: string, user: string, session: string];

/** Checks the key and the name. Returns the owner's columns. Artifacts of the user have an empty session id. */
function placeOf(key: SessionKey, name: string): Place {
  checkArtifactKey(key, name);
  return [key.app, key.user, isUsers(name) ? '' : key.id];
}
