// Stores that older versions wrote. Each released version has a folder here, which scripts/store-fixtures.ts filled with
// the code of that version.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { testDatabase } from '../support/postgres.ts';
import { check, type Contents } from './contents.ts';
import { FILES, inPostgres, inSqlite } from './open-stores.ts';

const here = import.meta.dirname;
const versions = readdirSync(here, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

function textOf(version: string, file: string): string {
  return readFileSync(path.join(here, version, file), 'utf8');
}

test('there is a fixture of the first version', () => {
  assert.ok(versions.includes('0.1.0'));
});

for (const version of versions) {
  const contents: { sqlite: Contents; postgres: Contents } = JSON.parse(
    textOf(version, 'contents.json'),
  );

  test(`stores that ${version} wrote to SQLite are migrated and read`, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'parley-stores-'));
    try {
      for (const name of FILES) {
        using database = new DatabaseSync(path.join(folder, `${name}.db`));
        database.exec(textOf(version, `${name}.sqlite.sql`));
      }
      await inSqlite(folder, (stores) => check(stores, contents.sqlite));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test(`stores that ${version} wrote to PostgreSQL are migrated and read`, async () => {
    await using database = await testDatabase();
    await database.query(textOf(version, 'postgres.sql'));
    await inPostgres(database.url, (stores) => check(stores, contents.postgres));
  });
}
