/** The prepared statements for the card tables, and the types of their rows. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

/** A workspace's numeric id, the count of its visible cards, and the count of its deleted cards. */
export type WorkspaceRow = [number: number, live: number, deleted: number];

/** A card with its current content. */
export type CardRow = [
  row: number,
  id: string,
  version: number,
  created: number,
  updated: number,
  deleted: number | null,
  slug: string,
  name: string,
  description: string,
  content: string,
];

export type VersionRow = [
  version: number,
  at: number,
  actor: string,
  slug: string,
  name: string,
  description: string,
  content: string,
];

export const CARD_COLUMNS = `c.row, c.id, c.version, c.created, c.updated, c.deleted, c.slug, c.name,
  v.description, v.content`;
export const CARD_TABLES =
  'cards c JOIN card_versions v ON v.card = c.row AND v.version = c.version';
const VERSION_COLUMNS = 'version, at, actor, slug, name, description, content';
const WORKSPACE = '(SELECT number FROM card_workspaces WHERE name = ?)';

export function prepareCardStatements(db: DatabaseSync) {
  const command = (sql: string) => db.prepare(sql);
  /** Prepares a query whose rows are arrays, because Node creates arrays twice as fast as objects. */
  const query = <Row extends unknown[]>(sql: string) => {
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    // The type checker cannot infer the type of a row from the SQL.
    return {
      get: (...values: SQLInputValue[]) => statement.get(...values) as unknown as Row | undefined,
      all: (...values: SQLInputValue[]) => statement.all(...values) as unknown as Row[],
    };
  };
  return {
    workspace: query<WorkspaceRow>(
      'SELECT number, live, deleted FROM card_workspaces WHERE name = ?',
    ),
    addWorkspace: command('INSERT OR IGNORE INTO card_workspaces (name) VALUES (?)'),
    count: command(
      'UPDATE card_workspaces SET live = live + ?2, deleted = deleted + ?3 WHERE number = ?1',
    ),

    byId: query<CardRow>(
      `SELECT ${CARD_COLUMNS} FROM ${CARD_TABLES} WHERE c.workspace = ${WORKSPACE} AND c.id = ?`,
    ),
    bySlug: query<CardRow>(
      `SELECT ${CARD_COLUMNS} FROM ${CARD_TABLES}
        WHERE c.workspace = ${WORKSPACE} AND c.slug = ? AND c.deleted IS NULL`,
    ),
    slugs: query<[slug: string]>(
      `SELECT slug FROM cards WHERE workspace = ${WORKSPACE} AND deleted IS NULL ORDER BY slug LIMIT ?`,
    ),
    owner: query<[id: string]>(
      'SELECT id FROM cards WHERE workspace = ? AND slug = ? AND deleted IS NULL',
    ),

    add: command(
      `INSERT INTO cards (workspace, id, version, created, updated, slug, name)
        VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
    set: command(
      `UPDATE cards SET version = ?2, updated = ?3, deleted = NULL, slug = ?4, name = ?5
        WHERE row = ?1`,
    ),
    hide: command('UPDATE cards SET deleted = ?2 WHERE row = ?1'),
    longestDeleted: query<[row: number]>(
      `SELECT row FROM cards
        WHERE workspace = ? AND deleted IS NOT NULL ORDER BY deleted, row LIMIT 1`,
    ),
    remove: command('DELETE FROM cards WHERE row = ?'),

    addVersion: command(
      `INSERT INTO card_versions (card, ${VERSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    dropVersions: command('DELETE FROM card_versions WHERE card = ? AND version <= ?'),
    version: query<VersionRow>(
      `SELECT ${VERSION_COLUMNS} FROM card_versions WHERE card = ? AND version = ?`,
    ),
    versions: query<VersionRow>(
      `SELECT ${VERSION_COLUMNS} FROM card_versions WHERE card = ?
        ORDER BY version DESC LIMIT ? OFFSET ?`,
    ),
    countVersions: query<[total: number]>('SELECT count(*) FROM card_versions WHERE card = ?'),

    addTerms: command('INSERT INTO card_search (rowid, letters, marks) VALUES (?, ?, ?)'),
    dropTerms: command('DELETE FROM card_search WHERE rowid = ?'),
  };
}
