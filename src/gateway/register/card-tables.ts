/**
 * The tables of cards in the register.
 *
 * A card's row is thin: what it is found and sorted by. Its content is in `card_versions`, every version whole, and the
 * present one is the row that `version` points at. Each sort has its index, which also knows what is deleted, so that
 * an offset is skipped without the rows.
 *
 * `card_search` is an inverted index of terms that search.ts makes: three letters in a row, tags, and whose they are.
 * Because a term names its workspace, no search reads anything of another one. It is merged eagerly: cards are read far
 * more often than written, and this takes a third off a search.
 */
export const CARDS_SCHEMA = `
CREATE TABLE card_workspaces (
  number  INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  live    INTEGER NOT NULL DEFAULT 0,  -- totals, so that nothing is counted
  deleted INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE cards (
  row       INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL REFERENCES card_workspaces,
  id        TEXT NOT NULL,
  version   INTEGER NOT NULL,
  created   INTEGER NOT NULL,          -- milliseconds, as the other times
  updated   INTEGER NOT NULL,
  deleted   INTEGER,                   -- null: it is there
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
