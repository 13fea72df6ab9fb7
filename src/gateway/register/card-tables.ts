/**
 * The register's tables for model cards.
 *
 * A row of `cards` has only the columns for searching and sorting. The content is in `card_versions`. Each version is
 * complete, and `cards.version` is the number of the current version. Each sort order has an index that includes
 * `deleted`. So SQLite reads only this index when it skips the rows before an offset.
 *
 * `card_search` is an inverted index of the terms from cards/terms.ts: pieces of text, providers and capabilities. Each
 * term contains its workspace, so a search never reads another workspace's entries. SQLite merges the index often
 * (`automerge`), because cards are read far more often than they are written. The merging makes a search a third
 * faster.
 */
export const CARDS_SCHEMA = `
CREATE TABLE card_workspaces (
  number  INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  live    INTEGER NOT NULL DEFAULT 0,  -- totals, so that a list without a filter need not count
  deleted INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE cards (
  row       INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL REFERENCES card_workspaces,
  id        TEXT NOT NULL,
  version   INTEGER NOT NULL,
  created   INTEGER NOT NULL,          -- milliseconds, like the other times
  updated   INTEGER NOT NULL,
  deleted   INTEGER,                   -- null: not deleted
  slug      TEXT NOT NULL,
  name      TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX cards_id ON cards (workspace, id);
CREATE UNIQUE INDEX cards_live_slug ON cards (workspace, slug) WHERE deleted IS NULL;
CREATE INDEX cards_deleted ON cards (workspace, deleted) WHERE deleted IS NOT NULL;
CREATE INDEX cards_name ON cards (workspace, name COLLATE NOCASE, row, deleted);
CREATE INDEX cards_slug ON cards (workspace, slug, row, deleted);
CREATE INDEX cards_created ON cards (workspace, created, row, deleted);
CREATE INDEX cards_updated ON cards (workspace, updated, row, deleted);

CREATE TABLE card_versions (
  card        INTEGER NOT NULL REFERENCES cards ON DELETE CASCADE,
  version     INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  actor       TEXT NOT NULL,
  slug        TEXT NOT NULL,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,
  content     TEXT NOT NULL,           -- JSON
  PRIMARY KEY (card, version)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE card_search USING fts5(
  letters, marks, content='', contentless_delete=1, tokenize='ascii'
);
INSERT INTO card_search (card_search, rank) VALUES ('automerge', 2);
`;
