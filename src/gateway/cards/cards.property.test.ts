/** Random histories of two workspaces, against a model of a few lines. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { A2AError } from '../../protocol/index.ts';
import { ann, bob, body, query, silent } from '../../../test/gateway/cards-support.ts';
import { auditInto } from '../../../test/support/audit-into.ts';
import { testDatabase } from '../../../test/support/postgres.ts';
import type { MaybePromise } from '../../base/index.ts';
import { openPostgresRegister } from '../register/postgres-register.ts';
import { openRegister } from '../register/sqlite-register.ts';
import { type Cards, createCards } from './cards.ts';
import { SORTS, type CardInput, type CardQuery, type ModelCard } from './schema.ts';

interface Known {
  readonly id: string;
  readonly workspace: string;
  readonly created: number;
  readonly versions: CardInput[];
  updated: number;
  deleted: boolean;
}

const callers = [ann, bob] as const;
const author = fc.constantFrom(...callers);
const provider = fc.constantFrom('openai', 'azure', undefined);
const input = fc
  .record({
    name: fc.constantFrom('Alpha', 'alpha two', 'Beta', 'Ünique 4'),
    slug: fc.constantFrom('a', 'b', 'c', 'gpt-4'),
    description: fc.constantFrom('', 'fast and\ncheap', 'FAST', 'x'),
    provider,
    vision: fc.boolean(),
  })
  .map(({ provider, vision, ...fields }) =>
    body({
      ...fields,
      card: {
        schemaVersion: '1.0',
        name: 'm',
        ...(provider !== undefined && { provider }),
        capabilities: [{ type: 'vision', enabled: vision }],
      },
    }),
  );
/** Which of the cards that there are, or one beyond. */
const which = fc.nat();
const stranger = fc.nat(4).map((n) => n === 0);
const condition = fc.constantFrom('none', 'any', 'present', 'stale');
const target = { which, stranger, condition };
const version = fc.integer({ min: 1, max: 4 });
const step = fc.oneof(
  fc.record({ op: fc.constant('create' as const), author, input }),
  fc.record({ op: fc.constant('update' as const), input, ...target }),
  fc.record({ op: fc.constant('delete' as const), ...target }),
  fc.record({ op: fc.constant('restore' as const), version, ...target }),
);

const q = fc.constantFrom('a', 'al', 'alp', 'FAST', 'fast che', 'gpt-4', '4 ün', 'x', 'none');
const filters = {
  q,
  slug: fc.constantFrom('a', 'gpt-4'),
  provider: fc.constantFrom('openai', 'azure'),
  capability: fc.constantFrom('vision', 'sound'),
};
const view = fc.record({
  sort: fc.constantFrom(...SORTS.flatMap((sort) => [sort, `-${sort}`] as const)),
  include_deleted: fc.constantFrom('true', 'false'),
  limit: fc.integer({ min: 1, max: 5 }),
  offset: fc.nat(3),
});
const listing = fc
  .tuple(
    view,
    fc.oneof(fc.constant({}), fc.record({ q }), fc.record(filters, { requiredKeys: [] })),
  )
  .map(([view, filter]) => query({ ...view, ...filter }));

/** The cards as a list that is looked through. */
class Model {
  readonly known: Known[] = [];

  taken(workspace: string, slug: string, but?: Known): boolean {
    return this.known.some(
      (card) =>
        card !== but &&
        card.workspace === workspace &&
        !card.deleted &&
        card.versions.at(-1)!.slug === slug,
    );
  }

  matching(workspace: string, wanted: CardQuery): Known[] {
    const words = (wanted.q ?? '').toLowerCase().split(/\s+/);
    const descending = wanted.sort.startsWith('-');
    const key = ({ created, updated, versions }: Known) => {
      const { name, slug } = versions.at(-1)!;
      if (wanted.sort.endsWith('name')) return name.replaceAll(/[A-Z]/g, (l) => l.toLowerCase());
      if (wanted.sort.endsWith('slug')) return slug!;
      return wanted.sort.endsWith('createdAt') ? created : updated;
    };
    const found = this.known.filter((card) => {
      const { name, slug, description, card: content } = card.versions.at(-1)!;
      const text = [name, slug, description].join('\n').toLowerCase();
      const enabled = content.capabilities.filter(({ enabled }) => enabled);
      return (
        card.workspace === workspace &&
        (!card.deleted || wanted.include_deleted === 'true') &&
        words.every((word) => text.includes(word)) &&
        (wanted.slug === undefined || wanted.slug === slug) &&
        (wanted.provider === undefined || wanted.provider === content.provider) &&
        (wanted.capability === undefined || enabled.some(({ type }) => type === wanted.capability))
      );
    });
    const sign = descending ? -1 : 1;
    const order = (one: Known, other: Known) => this.known.indexOf(one) - this.known.indexOf(other);
    return found.toSorted((one, other) => {
      const [a, b] = [key(one), key(other)];
      return sign * (a === b ? order(one, other) : a < b ? -1 : 1);
    });
  }
}

async function attempt(
  work: () => MaybePromise<ModelCard | void>,
): Promise<ModelCard | string | undefined> {
  try {
    return (await work()) ?? undefined;
  } catch (error) {
    if (error instanceof A2AError) return error.kind;
    throw error;
  }
}

function seen(card: ModelCard) {
  const { name, slug, description, card: content, version } = card;
  return { name, slug, description, card: content, version };
}

function expected(known: Known) {
  const { name, slug, description, card } = known.versions.at(-1)!;
  return { name, slug, description, card, version: known.versions.length };
}

function headerFor(condition: string, version: number): string | undefined {
  if (condition === 'any') return '*';
  if (condition === 'present') return `"${version}"`;
  return condition === 'stale' ? `"${version + 1}", W/"${version}"` : undefined;
}

async function agree(
  cards: Cards,
  model: Model,
  workspace: string,
  wanted: CardQuery,
): Promise<void> {
  const { items, total } = await cards.list(workspace, wanted);
  const all = model.matching(workspace, wanted);
  const part = all.slice(wanted.offset, wanted.offset + wanted.limit);
  assert.equal(total, all.length);
  assert.deepEqual(
    items.map(({ id }) => id),
    part.map(({ id }) => id),
  );
  assert.deepEqual(items.map(seen), part.map(expected));
}

const history = fc.array(fc.tuple(step, listing), { minLength: 10, maxLength: 40, size: 'max' });

async function follow(
  steps: readonly (readonly [Step, CardQuery])[],
  open: (now: () => number) => Cards,
): Promise<void> {
  let at = 0;
  const cards = open(() => at);
  const model = new Model();
  for (const [n, [step, listing]] of steps.entries()) {
    at = Math.floor(n / 3);
    if (step.op === 'create') await create(cards, model, step, at);
    else await alter(cards, model, step, at);
    for (const { workspace } of callers) {
      await agree(cards, model, workspace, listing);
      await lookedUp(cards, model, workspace, 'a');
    }
  }
  for (const known of model.known) await remembered(cards, known);
}

test('every history of changes and lists is as the model says', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const register = openRegister(undefined, silent);
      await follow(steps, (now) => createCards({ register, audit: auditInto([]), now }));
      register.close();
    }),
    { numRuns: 100 },
  );
});

test('PostgreSQL: every history of changes and lists is as the model says', async () => {
  await using database = await testDatabase();
  const register = await openPostgresRegister(database.url, silent);
  try {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        await database.query('TRUNCATE parley.card_workspaces CASCADE');
        await follow(steps.slice(0, 15), (now) =>
          createCards({ register, audit: auditInto([]), now }),
        );
      }),
      { numRuns: 3 },
    );
  } finally {
    await register.close();
  }
});

async function lookedUp(
  cards: Cards,
  model: Model,
  workspace: string,
  slug: string,
): Promise<void> {
  const [known] = model.matching(workspace, query({ slug }));
  const card = await cards.bySlug(workspace, slug);
  assert.deepEqual(card && seen(card), known && expected(known));
}

async function remembered(cards: Cards, { id, workspace, versions }: Known): Promise<void> {
  const { items } = await cards.versions(workspace, id, { limit: 100, offset: 0 });
  assert.deepEqual(
    items.map(({ name, slug, description, card }) => ({ name, slug, description, card })),
    versions.toReversed(),
  );
}

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

type Creation = Extract<Step, { op: 'create' }>;

/** Does it to both, and compares what each says of it. */
async function create(
  cards: Cards,
  model: Model,
  { author, input }: Creation,
  at: number,
): Promise<void> {
  const { workspace } = author;
  const outcome = await attempt(() => cards.create(author, input));
  if (model.taken(workspace, input.slug!)) return assert.equal(outcome, 'conflict');
  assert.ok(typeof outcome === 'object');
  const { id } = outcome;
  const known = { id, workspace, created: at, updated: at, versions: [input], deleted: false };
  model.known.push(known);
  return assert.deepEqual(seen(outcome), expected(known));
}

async function alter(
  cards: Cards,
  model: Model,
  step: Exclude<Step, Creation>,
  at: number,
): Promise<void> {
  const { condition, stranger } = step;
  const known = model.known[step.which % (model.known.length + 1)];
  const owner = known?.workspace ?? ann.workspace;
  const author = callers.find(({ workspace }) => (workspace === owner) !== stranger)!;
  const id = known?.id ?? 'none';
  const header = headerFor(condition, known?.versions.length ?? 1);
  const outcome = await attempt(() => {
    if (step.op === 'restore') return cards.restore(author, id, step.version, header);
    if (step.op === 'update') return cards.update(author, id, step.input, header);
    return cards.delete(author, id, header);
  });
  if (known === undefined || stranger || (known.deleted && step.op !== 'restore')) {
    return assert.equal(outcome, 'notFound');
  }
  if (condition === 'stale') return assert.equal(outcome, 'preconditionFailed');
  if (step.op === 'delete') {
    known.deleted = true;
    return assert.equal(outcome, undefined);
  }
  const next = step.op === 'restore' ? known.versions[step.version - 1] : step.input;
  if (next === undefined) return assert.equal(outcome, 'notFound');
  if (model.taken(author.workspace, next.slug!, known)) return assert.equal(outcome, 'conflict');
  known.versions.push(next);
  Object.assign(known, { updated: at, deleted: false });
  assert.ok(typeof outcome === 'object');
  return assert.deepEqual(seen(outcome), expected(known));
}
