/**
 * Named sets of tables in the schema `parley` of a database. Each set has a version: the number of its steps that were
 * applied. New steps are added at the end, and steps are never changed. There are no downgrades.
 *
 * A step runs while older nodes still use the database (rolling restart), so it must not break their statements.
 */
import { StoreError } from '../store-error.ts';

export interface PostgresSchema {
  /** Name of the set, such as `tasks`. */
  readonly name: string;
  readonly steps: readonly string[];
}

/** The version of a set of tables in the database, and the newest version that this program knows. */
export interface SchemaVersion {
  readonly name: string;
  readonly stored: number;
  readonly known: number;
}

/** Runs statements: on any connection of a pool, or on the one connection of a transaction or session. */
export interface Executor {
  /** Runs a statement. If it has a `name` and prepared statements are in use, each connection prepares it once. */
  query<Row extends object>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<Row[]>;
}

/** The key of the advisory lock under which one process at a time migrates a database. It is "Parley" in ASCII. */
const MIGRATION_LOCK = 0x5061726c6579;

/** Returns the versions of the sets. Changes nothing. */
export async function schemaVersions(
  db: Executor,
  schemas: readonly PostgresSchema[],
): Promise<SchemaVersion[]> {
  const [found] = await db.query<{ table: string | null }>(
    `SELECT to_regclass('parley.schema_versions')::text AS "table"`,
  );
  const rows = found?.table
    ? await db.query<{ name: string; version: number }>(
        'SELECT name, version FROM parley.schema_versions',
      )
    : [];
  const stored = new Map(rows.map(({ name, version }) => [name, version]));
  return schemas.map(({ name, steps }) => ({
    name,
    stored: stored.get(name) ?? 0,
    known: steps.length,
  }));
}

/** Throws a StoreError if a newer version of Parley has migrated one of the sets. */
export function checkVersions(versions: readonly SchemaVersion[], database: string): void {
  for (const { name, stored, known } of versions) {
    if (stored <= known) continue;
    throw new StoreError(
      `the database ${database} was written by a newer Parley (its schema version of ${name} is ${stored}, this Parley supports ${known})`,
      { hint: 'upgrade Parley, or use another database' },
    );
  }
}

/**
 * Applies the missing steps of all sets. `db` must be in a transaction, so that either all steps are applied or none.
 * Returns the versions before the migration.
 */
export async function migrate(
  db: Executor,
  schemas: readonly PostgresSchema[],
  database: string,
): Promise<SchemaVersion[]> {
  // This lock ends with the transaction. A lock that belongs to a connection would not work behind a pooler.
  await db.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
  const versions = await schemaVersions(db, schemas);
  checkVersions(versions, database);
  if (areCurrent(versions)) return versions;
  const [{ encoding } = { encoding: '' }] = await db.query<{ encoding: string }>(
    `SELECT current_setting('server_encoding') AS encoding`,
  );
  if (encoding !== 'UTF8') {
    throw new StoreError(`the database ${database} has the encoding ${encoding}`, {
      hint: 'create a database with the encoding UTF8: createdb --encoding=UTF8 --template=template0 NAME',
    });
  }
  // CREATE SCHEMA IF NOT EXISTS would need the right to create schemas even if the schema exists.
  const [found] = await db.query<{ exists: boolean }>(
    `SELECT to_regnamespace('parley') IS NOT NULL AS "exists"`,
  );
  if (!found?.exists) await db.query('CREATE SCHEMA parley');
  await db.query(
    'CREATE TABLE IF NOT EXISTS parley.schema_versions (name text PRIMARY KEY, version integer NOT NULL)',
  );
  for (const [at, { name, steps }] of schemas.entries()) {
    const stored = versions[at]?.stored ?? 0;
    if (stored === steps.length) continue;
    for (const step of steps.slice(stored)) await db.query(step);
    await db.query(
      `INSERT INTO parley.schema_versions VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET version = excluded.version`,
      [name, steps.length],
    );
  }
  return versions;
}

/** Returns whether all sets have the newest version. */
export function areCurrent(versions: readonly SchemaVersion[]): boolean {
  return versions.every(({ stored, known }) => stored === known);
}
