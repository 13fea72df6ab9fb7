/** Keeps artifacts in a SQLite file. Several processes may share the file. The file may also contain sessions. */
import type { ArtifactContent, ArtifactStore } from '../artifact.ts';
import type { SessionKey } from '../session.ts';
import { Database, readable, type SqliteOptions } from '../sessions/database.ts';
import { StorageError } from '../storage-error.ts';
import { checkArtifact, checkArtifactKey, isUsers, MAX_VERSIONS } from './rules.ts';

/**
 * Opens an artifact store in a file. Creates the file if it does not exist. Throws a StorageError if the file cannot
 * be used.
 *
 *   const artifacts = sqliteArtifacts('/var/lib/parley/agent.db');
 */
export function sqliteArtifacts(path: string, options: SqliteOptions = {}): ArtifactStore {
  const db = new Database(path, options);
  let sql: ReturnType<typeof prepare>;
  try {
    sql = db.read(() => prepare(db));
  } catch (error) {
    db.close();
    throw error;
  }

  function latest(key: SessionKey, name: string): number {
    return Number(sql.latest.get(...place(key, name), name)?.['version'] ?? -1);
  }

  return {
    async save(key, name, content) {
      checkArtifactKey(key, name);
      checkArtifact(content);
      const json = JSON.stringify(content);
      return db.write(() => {
        const version = latest(key, name) + 1;
        if (version >= MAX_VERSIONS) {
          throw new StorageError(
            'full',
            `the artifact has ${MAX_VERSIONS} versions: use a new name`,
          );
        }
        sql.insert.run(...place(key, name), name, version, json);
        return version;
      });
    },
    async load(key, name, version) {
      checkArtifactKey(key, name);
      return db.read(() => {
        const row = sql.load.get(...place(key, name), name, version ?? latest(key, name));
        if (!row) return undefined;
        return readable(`the artifact ${name}`, (): ArtifactContent =>
          JSON.parse(String(row['json'])),
        );
      });
    },
    async list(key) {
      checkArtifactKey(key, 'any');
      return db.read(() => [
        ...sql.names
          .all(...place(key, ''))
          .map(nameOf)
          .toSorted(),
        ...sql.names
          .all(...place(key, 'user:'))
          .map(nameOf)
          .toSorted(),
      ]);
    },
    async versions(key, name) {
      checkArtifactKey(key, name);
      return db.read(() =>
        sql.versions.all(...place(key, name), name).map((row) => Number(row['version'])),
      );
    },
    async delete(key, name) {
      checkArtifactKey(key, name);
      return db.write(() => sql.remove.run(...place(key, name), name).changes !== 0);
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

/** Returns the owner's columns. Artifacts of the user are stored with an empty session id. */
function place({ app, user, id }: SessionKey, name: string): [string, string, string] {
  return [app, user, isUsers(name) ? '' : id];
}

function nameOf(row: Readonly<Record<string, unknown>>): string {
  return String(row['name']);
}
