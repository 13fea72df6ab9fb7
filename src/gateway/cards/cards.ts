/**
 * Stores model cards, with their latest versions. A card belongs to a workspace. Its slug is unique among the visible
 * cards of this workspace.
 *
 *   const cards = createCards({ register, audit });
 *   const card = await cards.create(caller, { name: 'GPT-4 Turbo', description: '', card: { … } });
 *   await cards.bySlug(caller.workspace, 'gpt-4-turbo');
 *
 * `update` and `restore` create a new version. A deleted card is hidden, and its slug can be used again. `restore`
 * makes the card visible again. A card of another workspace is reported as not found.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { MaybePromise } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { ifMatch } from '../../http/index.ts';
import type { Caller } from '../api/caller.ts';
import type { Register, Steps } from '../register/register.ts';
import { createRegisterCache } from '../register/register-cache.ts';
import type { OffsetPage, PageQuery } from '../api/fields.ts';
import type { Audit } from '../audit/audit.ts';
import {
  MAX_SLUG_CHARS,
  type CardContent,
  type CardInput,
  type CardQuery,
  type CardVersion,
  type ModelCard,
} from './schema.ts';
import { fullTextSearch } from './full-text-search.ts';
import { postgresSearch } from './postgres-search.ts';
import { slugOf } from './slug.ts';
import { CARD_SQL, type CardRow, type VersionRow, type WorkspaceRow } from './statements.ts';

/** Maximum size of `card` as JSON. */
const MAX_CONTENT_BYTES = 64 * 1024;
const MAX_CARDS = 100_000;
/**
 * Maximum number of deleted cards of a workspace that can be restored. Above this number, the card that was deleted
 * first is removed.
 */
const MAX_DELETED = 10_000;
/** Maximum number of versions of one card. Above this number, the oldest versions are removed. */
const MAX_VERSIONS = 1000;
/** Maximum number of cached lookups by slug, in all workspaces together. */
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
  /** Limits of the store. `cards` and `deleted` apply to each workspace, and `versions` applies to each card. */
  readonly limits?: CardLimits;
}

/**
 * The author of a change. `workspace` is the workspace of the card, and `actor` is the author's name in the version
 * history.
 */
export type Author = Pick<Caller, 'workspace' | 'actor'>;

export type Cards = ReturnType<typeof createCards>;

/** The part of Cards that is needed to find the card of a model. */
export type CardLookup = Pick<Cards, 'bySlug' | 'slugs'>;

type Stored = ReturnType<typeof storedOf>;

/** The content of a version. Its field `content` is the card's JSON. */
type Content = Pick<Stored, 'slug' | 'name' | 'description' | 'content'>;

/**
 * The methods throw these errors:
 * - `notFound` if the card or its version does not exist. `bySlug` returns undefined instead;
 * - `conflict` if the slug is already used, or the workspace has too many cards;
 * - `preconditionFailed` if `condition` (If-Match) does not match the card's ETag;
 * - `tooLarge` if `card` is larger than MAX_CONTENT_BYTES;
 * - `invalidParams` if no slug can be made from the name.
 */
export function createCards({ register, audit, now = Date.now, limits = {} }: CardsOptions) {
  const { cards = MAX_CARDS, deleted = MAX_DELETED, versions = MAX_VERSIONS } = limits;
  const search = register.kind === 'postgres' ? postgresSearch : fullTextSearch();
  /**
   * Runs a search. In PostgreSQL, a search runs in a transaction, because it changes settings that must apply only to
   * the search.
   */
  const runSearch = <Result>(work: () => Steps<Result>) =>
    register.kind === 'postgres' ? register.transaction(work) : register.read(work);
  const cached = createRegisterCache<ModelCard>(register, MAX_CACHED);

  function* workspaceRow(workspace: string): Steps<WorkspaceRow> {
    yield* CARD_SQL.addWorkspace.run(workspace);
    return (yield* CARD_SQL.workspace.get(workspace))!;
  }

  function* stored(workspace: string, id: string): Steps<Stored> {
    const row = yield* CARD_SQL.byId.get(workspace, id);
    if (row === undefined) throw noCard();
    return storedOf(row);
  }

  function* live(workspace: string, id: string): Steps<Stored> {
    const card = yield* stored(workspace, id);
    if (card.deleted !== null) throw noCard();
    return card;
  }

  function needRoom(total: number): void {
    if (total < cards) return;
    const message = `The workspace has the maximum number of model cards (${total}): delete one first`;
    throw new A2AError('conflict', message);
  }

  function* needSlug(number: number, slug: string): Steps<void> {
    const [owner] = (yield* CARD_SQL.owner.get(number, slug)) ?? [];
    if (owner !== undefined) {
      throw new A2AError('conflict', `slug: "${slug}" is already used by the model card ${owner}`);
    }
  }

  function* addVersion(
    row: number,
    version: number,
    at: number,
    actor: string,
    card: Content,
  ): Steps<void> {
    const { slug, name, description, content } = card;
    yield* CARD_SQL.addVersion.run(row, version, at, actor, slug, name, description, content);
    yield* CARD_SQL.dropVersions.run(row, version - versions);
  }

  /** Replaces the card's entry in the search index. */
  function index(number: number, row: number, content: Content, deleted: boolean): Steps<void> {
    return search.replace(number, row, { ...content, card: cardIn(content.content) }, deleted);
  }

  /** Stores the next version of a card. A deleted card becomes visible again. */
  function* replace(author: Author, card: Stored, next: Content, action: string): Steps<ModelCard> {
    const [number, total] = yield* workspaceRow(author.workspace);
    const gone = card.deleted !== null;
    if (gone) needRoom(total);
    if (gone || next.slug !== card.slug) yield* needSlug(number, next.slug);
    const { row } = card;
    const version = card.version + 1;
    const at = Math.max(now(), card.updated);
    yield* CARD_SQL.set.run(row, version, at, next.slug, next.name);
    yield* addVersion(row, version, at, author.actor, next);
    yield* index(number, row, next, false);
    if (gone) yield* CARD_SQL.count.run(number, 1, -1);
    yield* record(author, action, card.id, { slug: next.slug, version });
    return modelCard(author.workspace, { ...card, ...next, version, updated: at, deleted: null });
  }

  function* removeLongestDeleted(number: number): Steps<void> {
    const [row] = (yield* CARD_SQL.longestDeleted.get(number))!;
    yield* CARD_SQL.remove.run(row);
    yield* search.remove(row);
    yield* CARD_SQL.count.run(number, 0, -1);
  }

  function record(
    { workspace, actor }: Author,
    action: string,
    subject: string,
    detail: Pick<Stored, 'slug' | 'version'>,
  ): Steps<void> {
    return audit.record({ workspace, actor, action, subject, detail });
  }

  return {
    create(author: Author, input: CardInput): MaybePromise<ModelCard> {
      const content = contentOf(input, input.slug ?? slugOf(input.name));
      return register.change(function* () {
        const [number, total] = yield* workspaceRow(author.workspace);
        needRoom(total);
        yield* needSlug(number, content.slug);
        const id = randomUUIDv7();
        const at = now();
        const [row] = (yield* CARD_SQL.add.get(number, id, 1, at, at, content.slug, content.name))!;
        yield* addVersion(row, 1, at, author.actor, content);
        yield* index(number, row, content, false);
        yield* CARD_SQL.count.run(number, 1, 0);
        yield* record(author, 'card.create', id, { slug: content.slug, version: 1 });
        const card = { ...content, row, id, version: 1, created: at, updated: at, deleted: null };
        return modelCard(author.workspace, card);
      });
    },

    get: (workspace: string, id: string) =>
      register.read(function* () {
        return modelCard(workspace, yield* live(workspace, id));
      }),

    list: (workspace: string, query: CardQuery): MaybePromise<OffsetPage<ModelCard>> =>
      runSearch(function* () {
        const { limit, offset } = query;
        const where = yield* CARD_SQL.workspace.get(workspace);
        if (where === undefined) return { items: [], total: 0, limit, offset };
        const { total, rows } = yield* search.find(where, query);
        const items = rows.map((row) => modelCard(workspace, storedOf(row)));
        return { items, total, limit, offset };
      }),

    /** Replaces the whole card. If `input` has no slug, the slug does not change. */
    update: (author: Author, id: string, input: CardInput, condition?: string) =>
      register.change(function* () {
        const card = yield* live(author.workspace, id);
        check(condition, card);
        const next = contentOf(input, input.slug ?? card.slug);
        return yield* replace(author, card, next, 'card.update');
      }),

    delete: (author: Author, id: string, condition?: string) =>
      register.change(function* () {
        const card = yield* live(author.workspace, id);
        check(condition, card);
        const [number, , gone] = yield* workspaceRow(author.workspace);
        yield* CARD_SQL.hide.run(card.row, Math.max(now(), card.updated));
        yield* index(number, card.row, card, true);
        yield* CARD_SQL.count.run(number, -1, 1);
        if (gone >= deleted) yield* removeLongestDeleted(number);
        yield* record(author, 'card.delete', id, { slug: card.slug, version: card.version });
      }),

    /** Lists the versions, newest first. Also works for deleted cards. */
    versions: (workspace: string, id: string, { limit, offset }: PageQuery) =>
      register.read(function* () {
        const { row } = yield* stored(workspace, id);
        const [total] = (yield* CARD_SQL.countVersions.get(row))!;
        const rows = yield* CARD_SQL.versions.all(row, limit, offset);
        const items = rows.map(versionOf);
        return { items, total, limit, offset };
      }),

    version: (workspace: string, id: string, version: number) =>
      register.read(function* () {
        const { row: number } = yield* stored(workspace, id);
        const row = yield* CARD_SQL.version.get(number, version);
        if (row === undefined) throw noVersion();
        return versionOf(row);
      }),

    /** Creates a new version with the content of an old version. A deleted card becomes visible again. */
    restore: (author: Author, id: string, version: number, condition?: string) =>
      register.change(function* () {
        const card = yield* stored(author.workspace, id);
        check(condition, card);
        const row = yield* CARD_SQL.version.get(card.row, version);
        if (row === undefined) throw noVersion();
        const [, , , slug, name, description, content] = row;
        return yield* replace(author, card, { slug, name, description, content }, 'card.restore');
      }),

    /** Returns the workspace's card with this slug, or undefined if there is no such card. Ignores deleted cards. */
    bySlug(workspace: string, slug: string): MaybePromise<ModelCard | undefined> {
      // The slug comes from the caller. Slugs that are too long must not fill the cache.
      if (slug.length > MAX_SLUG_CHARS) return undefined;
      return cached(JSON.stringify([workspace, slug]), () =>
        register.read(function* () {
          const row = yield* CARD_SQL.bySlug.get(workspace, slug);
          return row && modelCard(workspace, storedOf(row));
        }),
      );
    },

    /** Returns at most `limit` slugs, for lists and for "did you mean" suggestions. */
    slugs: (workspace: string, limit: number): MaybePromise<readonly string[]> =>
      register.read(function* () {
        const rows = yield* CARD_SQL.slugs.all(workspace, limit);
        return rows.map(([slug]) => slug);
      }),
  };
}

/** Returns a card's ETag: its version in quotes. */
export function etagOf({ version }: Pick<ModelCard, 'version'>): string {
  return `"${version}"`;
}

const noCard = () => new A2AError('notFound', 'The workspace has no such model card');
const noVersion = () => new A2AError('notFound', 'The model card has no such version');

function check(condition: string | undefined, card: Stored): void {
  if (ifMatch(condition, etagOf(card))) return;
  const message = `The model card now has version ${card.version} and the ETag ${etagOf(card)}: read it again`;
  throw new A2AError('preconditionFailed', message);
}

function contentOf({ name, description, card }: CardInput, slug: string): Content {
  if (slug === '') {
    const message = 'slug: required, because the name has no Latin letters or digits';
    throw new A2AError('invalidParams', message);
  }
  const content = JSON.stringify(card);
  if (Buffer.byteLength(content) > MAX_CONTENT_BYTES) {
    throw new A2AError('tooLarge', `card: larger than ${MAX_CONTENT_BYTES} bytes as JSON`);
  }
  return { slug, name, description, content };
}

function storedOf(cardRow: CardRow) {
  const [row, id, version, created, updated, deleted, slug, name, description, content] = cardRow;
  return { row, id, version, created, updated, deleted, slug, name, description, content };
}

function modelCard(workspaceId: string, card: Stored): ModelCard {
  const { id, name, slug, description, version, deleted } = card;
  return {
    id,
    workspaceId,
    name,
    slug,
    description,
    card: cardIn(card.content),
    version,
    createdAt: new Date(card.created).toISOString(),
    updatedAt: new Date(card.updated).toISOString(),
    ...(deleted !== null && { deletedAt: new Date(deleted).toISOString() }),
  };
}

function versionOf([version, at, createdBy, slug, name, description, content]: VersionRow) {
  const createdAt = new Date(at).toISOString();
  const card = cardIn(content);
  return { version, name, slug, description, card, createdAt, createdBy } satisfies CardVersion;
}

/** Parses the stored JSON. It was validated before it was stored. */
function cardIn(json: string): CardContent {
  return JSON.parse(json) as CardContent;
}
