/**
 * Writes test/stores/VERSION: the stores of this version, as SQL. A release adds its folder, which is never changed:
 * test/stores/stores.test.ts opens the stores of every released version with the current code.
 *
 * Needs a PostgreSQL server, at DATABASE_URL, and its pg_dump. The database must be empty.
 *
 *   DATABASE_URL=postgres://localhost/empty npm run fixtures
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { fill } from '../test/stores/contents.ts';
import { FILES, inPostgres, inSqlite } from '../test/stores/open-stores.ts';
import { readManifest } from './packages/manifest.ts';

const url = process.env['DATABASE_URL'];
if (url === undefined) throw new Error('set DATABASE_URL to an empty PostgreSQL database');
const root = path.resolve(import.meta.dirname, '..');
process.chdir(root);
const target = path.join('test/stores', readManifest().version);
if (fs.existsSync(target)) throw new Error(`${target} exists: a released fixture never changes`);

const folder = fs.mkdtempSync(path.join(tmpdir(), 'parley-fixtures-'));
try {
  const sqlite = await inSqlite(folder, fill);
  const postgres = await inPostgres(url, fill);
  fs.mkdirSync(target);
  for (const name of FILES) {
    const text = dumped(path.join(folder, `${name}.db`));
    fs.writeFileSync(path.join(target, `${name}.sqlite.sql`), text);
  }
  const dump = execFileSync(process.env['PG_DUMP'] ?? 'pg_dump', [
    '--inserts',
    '--no-owner',
    '--no-privileges',
    url,
  ]);
  // Removes psql's own commands, which are not SQL, and settings, which would change the connection of the restore.
  const statements = dump
    .toString()
    .replaceAll(/^(?:\\|--|SET |SELECT pg_catalog\.set_config).*\n/gm, '');
  fs.writeFileSync(path.join(target, 'postgres.sql'), statements.replaceAll(/\n{2,}/g, '\n'));
  const contents = `${JSON.stringify({ sqlite, postgres }, null, 2)}\n`;
  fs.writeFileSync(path.join(target, 'contents.json'), contents);
} finally {
  fs.rmSync(folder, { recursive: true });
}

/** Returns the statements that make a copy of a SQLite file. */
function dumped(file: string): string {
  using database = new DatabaseSync(file, { readOnly: true });
  const entries = database
    .prepare(
      "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  // A virtual table, which is an index, makes its own shadow tables. The fixture has no rows in it.
  const kinds = new Map(
    database
      .prepare('PRAGMA table_list')
      .all()
      .map(({ name, type }) => [name, type]),
  );
  const tables = entries.filter(({ name }) => kinds.get(name) === 'table');
  const virtual = entries.filter(({ name }) => kinds.get(name) === 'virtual');
  const lines = [...tables, ...virtual].map(({ sql }) => `${String(sql)};`);
  for (const { name } of tables) {
    for (const row of database.prepare(`SELECT * FROM "${String(name)}"`).all()) {
      const values = Object.values(row).map(literal).join(', ');
      const columns = Object.keys(row)
        .map((column) => `"${column}"`)
        .join(', ');
      lines.push(`INSERT INTO "${String(name)}" (${columns}) VALUES (${values});`);
    }
  }
  for (const { type, sql } of entries) if (type !== 'table') lines.push(`${String(sql)};`);
  for (const pragma of ['application_id', 'user_version']) {
    const [value] = Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {});
    lines.push(`PRAGMA ${pragma} = ${String(value)};`);
  }
  return `${lines.join('\n')}\n`;
}

function literal(value: SQLOutputValue): string {
  if (value === null) return 'NULL';
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}
