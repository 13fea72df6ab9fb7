/**
 * Model cards: each belongs to a workspace, has a slug of its own there, and keeps what it was.
 *
 *   const cards = createCards({ register, audit });
 *   const card = cards.create(caller, { name: 'GPT-4 Turbo', description: '', card: { … } });
 *   cards.bySlug(caller.workspace, 'gpt-4-turbo');
 *
 * Every change is a version. A deleted card is out of sight, its slug is free, and `restore` brings it back. Whoever
 * asks for a card of another workspace is told the same as one who asks for a card that never was.
 */
import { randomUUIDv7 } from 'node:crypto';
import { A2AError } from '../../protocol/index.ts';
import { ifMatch } from '../../http/index.ts';
import type { Caller } from '../api/caller.ts';
import type { Register } from '../register/register.ts';
import type { Page, PageQuery } from '../api/page.ts';
import type { Audit } from '../audit/audit.ts';
import {
  MAX_SLUG_CHARS,
  type CardContent,
  type CardInput,
  type CardQuery,
  type CardVersion,
  type ModelCard,
} from './schema.ts';
import { createSearch, termsOf } from './search.ts';
import { slugOf } from './slug.ts';
import { prepareStatements, type CardRow, type PlaceRow, type VersionRow } from './statements.ts';

/** Of `card`, as JSON. */
const MAX_CONTENT_BYTES = 64 * 1024;
const MAX_CARDS = 100_000;
/** Beyond it, the one that was deleted first is gone for good. */
const MAX_DELETED = 10_000;
/** Of one card; beyond it, the oldest are dropped. */
const MAX_VERSIONS = 1000;
/** Look-ups by slug that are remembered, over all workspaces. */
const MAX_CACHED = 2000;

export interface CardLimits {
  readonly cards?: number;
  readonly deleted?: number;
  readonly versions?: number;
}

export interface CardsOptions {
  readonly register: Register;
  readonly audit: Audit;
  /** The clock, in milliseconds. */
  readonly now?: () => number;
  /** Per workspace, and versions per card. */
  readonly limits?: CardLimits;
}

/** Whose card, and who is named in the history. */
export type Author = Pick<Caller, 'workspace' | 'actor'>;

/** What is not there throws `notFound`; a slug that is taken, `conflict`; an If-Match that fails, `preconditionFailed`. */
export interface Cards {
  create(author: Author, input: CardInput): ModelCard;
  get(workspace: string, id: string): ModelCard;
  list(workspace: string, query: CardQuery): Page<ModelCard>;
  /** Replaces all of it but a slug that is not given. */
  update(author: Author, id: string, input: CardInput, ifMatch?: string): ModelCard;
  delete(author: Author, id: string, ifMatch?: string): void;
  /** Newest first; of a deleted card too. */
  versions(workspace: string, id: string, page: PageQuery): Page<CardVersion>;
  version(workspace: string, id: string, version: number): CardVersion;
  /** A new version with the content of an old one; a deleted card is there again. */
  restore(author: Author, id: string, version: number, ifMatch?: string): ModelCard;
  /** The workspace's card with this slug, unless it was deleted. */
  bySlug(workspace: string, slug: string): ModelCard | undefined;
  /** At most `limit` slugs, for lists and for "did you mean". */
  slugs(workspace: string, limit: number): readonly string[];
}

/** The part of Cards that routing to models needs. */
export type CardLookup = Pick<Cards, 'bySlug' | 'slugs'>;

/** What a version says. */
interface State {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  /** The card's JSON. */
  readonly content: string;
}

interface Stored extends State {
  readonly row: number;
  readonly id: string;
  readonly version: number;
  readonly created: number;
  readonly updated: number;
  readonly deleted: number | null;
}

export function createCards({ register, audit, now = Date.now, limits = {} }: CardsOptions): Cards {
  const { cards = MAX_CARDS, deleted = MAX_DELETED, versions = MAX_VERSIONS } = limits;
  const sql = prepareStatements(register.db);
  const search = createSearch(register.db);
  const cache = new Map<string, ModelCard | undefined>();
  let seen = register.changed();

  function change<Result>(work: () => Result): Result {
    const result = register.transaction(work);
    cache.clear();
    return result;
  }

  function place(workspace: string): PlaceRow {
    sql.addPlace.run(workspace);
    return sql.place.get(workspace)!;
  }

  function stored(workspace: string, id: string): Stored {
    const row = sql.byId.get(workspace, id);
    if (row === undefined) throw noCard();
    return storedOf(row);
  }

  function live(workspace: string, id: string): Stored {
    const card = stored(workspace, id);
    if (card.deleted !== null) throw noCard();
    return card;
  }

  function needRoom(total: number): void {
    if (total < cards) return;
    throw new A2AError(
      'conflict',
      `The workspace has ${total} model cards, as many as it may: delete one first`,
    );
  }

  function needSlug(number: number, slug: string): void {
    const [owner] = sql.owner.get(number, slug) ?? [];
    if (owner !== undefined) {
      throw new A2AError('conflict', `slug: "${slug}" is taken by the model card ${owner}`);
    }
  }

  function keepVersion(row: number, version: number, at: number, actor: string, state: State) {
    const { slug, name, description, content } = state;
    sql.addVersion.run(row, version, at, actor, slug, name, description, content);
    sql.dropVersions.run(row, version - versions);
  }

  /** Puts it where searches find it, in the place of what was there of it. */
  function index(number: number, row: number, state: State, deleted: boolean): void {
    const { letters, marks } = termsOf(
      number,
      { ...state, card: contentOf(state.content) },
      deleted,
    );
    sql.dropTerms.run(row);
    sql.addTerms.run(row, letters, marks);
  }

  /** The next version of a card, deleted or not. */
  function replace(author: Author, card: Stored, state: State, action: string): ModelCard {
    const [number, total] = place(author.workspace);
    const gone = card.deleted !== null;
    if (gone) needRoom(total);
    if (gone || state.slug !== card.slug) needSlug(number, state.slug);
    const { row } = card;
    const version = card.version + 1;
    const at = Math.max(now(), card.updated);
    sql.set.run(row, version, at, state.slug, state.name);
    keepVersion(row, version, at, author.actor, state);
    index(number, row, state, false);
    if (gone) sql.count.run(number, 1, -1);
    record(author, action, card.id, { slug: state.slug, version });
    return shown(author.workspace, { ...card, ...state, version, updated: at, deleted: null });
  }

  function forgetLongestDeleted(number: number): void {
    const [row] = sql.longestDeleted.get(number)!;
    sql.remove.run(row);
    sql.dropTerms.run(row);
    sql.count.run(number, 0, -1);
  }

  function record({ workspace, actor }: Author, action: string, subject: string, detail: object) {
    audit.record({ workspace, actor, action, subject, detail: { ...detail } });
  }

  return {
    create(author, input) {
      const state = stateOf(input, input.slug ?? slugOf(input.name));
      return change(() => {
        const [number, total] = place(author.workspace);
        needRoom(total);
        needSlug(number, state.slug);
        const id = randomUUIDv7();
        const at = now();
        const { lastInsertRowid } = sql.add.run(number, id, 1, at, at, state.slug, state.name);
        const row = Number(lastInsertRowid);
        keepVersion(row, 1, at, author.actor, state);
        index(number, row, state, false);
        sql.count.run(number, 1, 0);
        record(author, 'card.create', id, { slug: state.slug, version: 1 });
        const card = { ...state, row, id, version: 1, created: at, updated: at, deleted: null };
        return shown(author.workspace, card);
      });
    },

    get: (workspace, id) => register.read(() => shown(workspace, live(workspace, id))),

    list: (workspace, query) =>
      register.read(() => {
        const { limit, offset } = query;
        const where = sql.place.get(workspace);
        if (where === undefined) return { items: [], total: 0, limit, offset };
        const { total, rows } = search(where, query);
        const items = rows.map((row) => shown(workspace, storedOf(row)));
        return { items, total, limit, offset };
      }),

    update: (author, id, input, condition) =>
      change(() => {
        const card = live(author.workspace, id);
        check(condition, card);
        return replace(author, card, stateOf(input, input.slug ?? card.slug), 'card.update');
      }),

    delete: (author, id, condition) =>
      change(() => {
        const card = live(author.workspace, id);
        check(condition, card);
        const [number, , gone] = place(author.workspace);
        sql.hide.run(card.row, Math.max(now(), card.updated));
        index(number, card.row, card, true);
        sql.count.run(number, -1, 1);
        if (gone >= deleted) forgetLongestDeleted(number);
        record(author, 'card.delete', id, { slug: card.slug, version: card.version });
      }),

    versions: (workspace, id, { limit, offset }) =>
      register.read(() => {
        const { row } = stored(workspace, id);
        const [total] = sql.countVersions.get(row)!;
        const items = sql.versions.all(row, limit, offset).map(versionOf);
        return { items, total, limit, offset };
      }),

    version: (workspace, id, version) =>
      register.read(() => {
        const row = sql.version.get(stored(workspace, id).row, version);
        if (row === undefined) throw noVersion();
        return versionOf(row);
      }),

    restore: (author, id, version, condition) =>
      change(() => {
        const card = stored(author.workspace, id);
        check(condition, card);
        const row = sql.version.get(card.row, version);
        if (row === undefined) throw noVersion();
        const [, , , slug, name, description, content] = row;
        return replace(author, card, { slug, name, description, content }, 'card.restore');
      }),

    bySlug(workspace, slug) {
      // Whatever a caller names is asked for here: what is no slug is not remembered either.
      if (slug.length > MAX_SLUG_CHARS) return undefined;
      return register.read(() => {
        const changed = register.changed();
        if (changed !== seen) {
          cache.clear();
          seen = changed;
        }
        const key = JSON.stringify([workspace, slug]);
        if (cache.has(key)) return cache.get(key);
        const row = sql.bySlug.get(workspace, slug);
        const card = row && shown(workspace, storedOf(row));
        if (cache.size >= MAX_CACHED) cache.clear();
        cache.set(key, card);
        return card;
      });
    },

    slugs: (workspace, limit) =>
      register.read(() => sql.slugs.all(workspace, limit).map(([slug]) => slug)),
  };
}

/** A card's version, in quotes. */
export function etagOf({ version }: Pick<ModelCard, 'version'>): string {
  return `"${version}"`;
}

const noCard = () => new A2AError('notFound', 'There is no such model card');
const noVersion = () => new A2AError('notFound', 'There is no such version of the model card');

function check(condition: string | undefined, card: Stored): void {
  if (ifMatch(condition, etagOf(card))) return;
  throw new A2AError(
    'preconditionFailed',
    `The model card is at version ${card.version} now: read it again, its ETag is ${etagOf(card)}`,
  );
}

function stateOf({ name, description, card }: CardInput, slug: string): State {
  if (slug === '') throw new A2AError('invalidParams', 'slug: give one, the name makes none');
  const content = JSON.stringify(card);
  if (Buffer.byteLength(content) > MAX_CONTENT_BYTES) {
    throw new A2AError('tooLarge', `card: at most ${MAX_CONTENT_BYTES} bytes as JSON`);
  }
  return { slug, name, description, content };
}

function storedOf(cardRow: CardRow): Stored {
  const [row, id, version, created, updated, deleted, slug, name, description, content] = cardRow;
  return { row, id, version, created, updated, deleted, slug, name, description, content };
}

function shown(workspaceId: string, card: Stored): ModelCard {
  const { id, name, slug, description, version, deleted } = card;
  return {
    id,
    workspaceId,
    name,
    slug,
    description,
    card: contentOf(card.content),
    version,
    createdAt: new Date(card.created).toISOString(),
    updatedAt: new Date(card.updated).toISOString(),
    ...(deleted !== null && { deletedAt: new Date(deleted).toISOString() }),
  };
}

function versionOf([version, at, createdBy, slug, name, description, content]: VersionRow) {
  const createdAt = new Date(at).toISOString();
  const card = contentOf(content);
  return { version, name, slug, description, card, createdAt, createdBy } satisfies CardVersion;
}

/** What was checked before it was written. */
function contentOf(json: string): CardContent {
  return JSON.parse(json) as CardContent;
}
