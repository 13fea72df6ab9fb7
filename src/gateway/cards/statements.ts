/** The statements for the card tables, and the types of their rows. Rows are arrays, because these are faster. */
import { arrayStatement, statement } from '../register/register.ts';

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

export const CARD_SQL = {
  workspace: arrayStatement<WorkspaceRow>(
    'SELECT number, live, deleted FROM card_workspaces WHERE name = ?',
  ),
  addWorkspace: statement('INSERT INTO card_workspaces (name) VALUES (?) ON CONFLICT DO NOTHING'),
  count: statement(
    'UPDATE card_workspaces SET live = live + ?2, deleted = deleted + ?3 WHERE number = ?1',
  ),

  byId: arrayStatement<CardRow>(
    `SELECT ${CARD_COLUMNS} FROM ${CARD_TABLES} WHERE c.workspace = ${WORKSPACE} AND c.id = ?`,
  ),
  bySlug: arrayStatement<CardRow>(
    `SELECT ${CARD_COLUMNS} FROM ${CARD_TABLES}
        WHERE c.workspace = ${WORKSPACE} AND c.slug = ? AND c.deleted IS NULL`,
  ),
  slugs: arrayStatement<[slug: string]>(
    `SELECT slug FROM cards WHERE workspace = ${WORKSPACE} AND deleted IS NULL ORDER BY slug LIMIT ?`,
  ),
  owner: arrayStatement<[id: string]>(
    'SELECT id FROM cards WHERE workspace = ? AND slug = ? AND deleted IS NULL',
  ),

  add: arrayStatement<[row: number]>(
    `INSERT INTO cards (workspace, id, version, created, updated, slug, name)
        VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING row`,
  ),
  set: statement(
    `UPDATE cards SET version = ?2, updated = ?3, deleted = NULL, slug = ?4, name = ?5
        WHERE row = ?1`,
  ),
  hide: statement('UPDATE cards SET deleted = ?2 WHERE row = ?1'),
  longestDeleted: arrayStatement<[row: number]>(
    `SELECT row FROM cards
        WHERE workspace = ? AND deleted IS NOT NULL ORDER BY deleted, row LIMIT 1`,
  ),
  remove: statement('DELETE FROM cards WHERE row = ?'),

  addVersion: statement(
    `INSERT INTO card_versions (card, ${VERSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  dropVersions: statement('DELETE FROM card_versions WHERE card = ? AND version <= ?'),
  version: arrayStatement<VersionRow>(
    `SELECT ${VERSION_COLUMNS} FROM card_versions WHERE card = ? AND version = ?`,
  ),
  versions: arrayStatement<VersionRow>(
    `SELECT ${VERSION_COLUMNS} FROM card_versions WHERE card = ?
        ORDER BY version DESC LIMIT ? OFFSET ?`,
  ),
  countVersions: arrayStatement<[total: number]>(
    'SELECT count(*) FROM card_versions WHERE card = ?',
  ),
};
