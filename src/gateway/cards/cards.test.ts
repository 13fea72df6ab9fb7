import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { A2AError, type ErrorKind } from '../../protocol/index.ts';
import { ann, bench, bob, body, query, SEED_BODY } from '../../../test/gateway/cards-support.ts';

function refuses(kind: ErrorKind, work: () => unknown, message = /./): void {
  assert.throws(work, (error) => {
    if (!(error instanceof A2AError)) return false;
    assert.equal(error.kind, kind);
    assert.match(error.message, message);
    return true;
  });
}

const MISSING = /^The workspace has no such model card$/;
const page = { limit: 50, offset: 0 };

test('a card is there as it was sent, with an id, version 1 and its times', () => {
  using parts = bench({ now: () => 0 });
  const { id, ...card } = parts.cards.create(ann, body(SEED_BODY));
  const at = '1970-01-01T00:00:00.000Z';
  assert.deepEqual(card, { ...SEED_BODY, version: 1, createdAt: at, updatedAt: at });
  assert.deepEqual(parts.cards.get('ws-123', id), { id, ...card });
});

test('a slug is taken once per workspace, and the refusal says by which card', () => {
  using parts = bench();
  const { id } = parts.cards.create(ann, body({ name: 'GPT 4' }));
  refuses(
    'conflict',
    () => parts.cards.create(ann, body({ name: 'Other', slug: 'gpt-4' })),
    new RegExp(`"gpt-4" is already used by the model card ${id}`),
  );
  refuses('conflict', () => parts.cards.create(ann, body({ name: 'GPT 4' })));
  assert.equal(parts.cards.create(bob, body({ name: 'GPT 4' })).slug, 'gpt-4');
});

test('a name that makes no slug needs one', () => {
  using parts = bench();
  refuses('invalidParams', () => parts.cards.create(ann, body({ name: '模型' })), /^slug: /);
  assert.equal(parts.cards.create(ann, body({ name: '模型', slug: 'm' })).slug, 'm');
});

test('an update replaces everything but a slug that is not given', () => {
  using parts = bench();
  const { id } = parts.cards.create(ann, body({ name: 'A', slug: 'x', description: 'long' }));
  const card = parts.cards.update(ann, id, body({ name: 'B' }));
  assert.deepEqual([card.name, card.slug, card.description, card.version], ['B', 'x', '', 2]);
  assert.equal(parts.cards.update(ann, id, body({ name: 'B', slug: 'y' })).slug, 'y');
  assert.equal(parts.cards.create(ann, body({ name: 'C', slug: 'x' })).slug, 'x');
  refuses('conflict', () => parts.cards.update(ann, id, body({ name: 'B', slug: 'x' })));
});

test('of two who changed the same version, the second is refused and told the present one', () => {
  using parts = bench();
  const { id } = parts.cards.create(ann, body({ name: 'A' }));
  parts.cards.update(ann, id, body({ name: 'first' }), '"1"');
  const second = () => parts.cards.update(ann, id, body({ name: 'second' }), '"1"');
  refuses('preconditionFailed', second, /version 2/);
  refuses('preconditionFailed', () => parts.cards.delete(ann, id, '"1"'));
  refuses('preconditionFailed', () => parts.cards.restore(ann, id, 1, '"1"'));
  assert.equal(parts.cards.get('ws-123', id).name, 'first');
  parts.cards.delete(ann, id, '"2"');
});

test('a deleted card is out of sight, its slug free, its versions there', () => {
  using parts = bench();
  const { id, slug } = parts.cards.create(ann, body({ name: 'A' }));
  parts.cards.delete(ann, id);
  refuses('notFound', () => parts.cards.get('ws-123', id), MISSING);
  refuses('notFound', () => parts.cards.update(ann, id, body({ name: 'B' })), MISSING);
  refuses('notFound', () => parts.cards.delete(ann, id), MISSING);
  assert.equal(parts.cards.bySlug('ws-123', slug), undefined);
  assert.equal(parts.cards.list('ws-123', query()).total, 0);
  assert.equal(parts.cards.versions('ws-123', id, page).total, 1);
  assert.equal(parts.cards.create(ann, body({ name: 'A' })).slug, slug);
});

test('deleted cards are listed for those who ask, with the time', () => {
  using parts = bench({ now: () => 5 });
  const { id } = parts.cards.create(ann, body({ name: 'A', description: 'the old one' }));
  parts.cards.create(ann, body({ name: 'B' }));
  parts.cards.delete(ann, id);
  const list = parts.cards.list('ws-123', query({ include_deleted: 'true', q: 'old' }));
  assert.deepEqual(
    list.items.map(({ id, deletedAt }) => [id, deletedAt]),
    [[id, '1970-01-01T00:00:00.005Z']],
  );
  assert.equal(parts.cards.list('ws-123', query({ include_deleted: 'true' })).total, 2);
  assert.equal(parts.cards.list('ws-123', query({ q: 'old' })).total, 0);
});

test('restoring makes a new version with the old content, and brings a deleted card back', () => {
  using parts = bench();
  const first = parts.cards.create(ann, body({ name: 'A', description: 'one' }));
  parts.cards.update(ann, first.id, body({ name: 'B', slug: 'b' }));
  parts.cards.delete(ann, first.id);
  const card = parts.cards.restore(ann, first.id, 1);
  const { version, updatedAt, ...rest } = card;
  const { version: _1, updatedAt: _2, ...before } = first;
  assert.deepEqual(rest, before);
  assert.equal(version, 3);
  assert.ok(updatedAt >= first.updatedAt);
  assert.deepEqual(parts.cards.bySlug('ws-123', 'a'), card);
  assert.equal(parts.cards.list('ws-123', query({ q: 'one' })).total, 1);
});

test('restoring onto a slug that is taken meanwhile is a conflict', () => {
  using parts = bench();
  const { id } = parts.cards.create(ann, body({ name: 'A' }));
  parts.cards.delete(ann, id);
  parts.cards.create(ann, body({ name: 'A' }));
  refuses('conflict', () => parts.cards.restore(ann, id, 1), /"a" is already used/);
});

test('the history says what, who and when, newest first', () => {
  let at = 1000;
  using parts = bench({ now: () => at });
  const { id } = parts.cards.create(ann, body({ name: 'A' }));
  at = 2000;
  parts.cards.update({ workspace: 'ws-123', actor: 'key:eve' }, id, body({ name: 'B' }));
  const { items, total } = parts.cards.versions('ws-123', id, page);
  const facts = items.map(({ version, name, createdAt, createdBy }) =>
    [version, name, createdAt, createdBy].join(' '),
  );
  assert.equal(total, 2);
  assert.deepEqual(facts, [
    '2 B 1970-01-01T00:00:02.000Z key:eve',
    '1 A 1970-01-01T00:00:01.000Z key:ann',
  ]);
  assert.deepEqual(parts.cards.version('ws-123', id, 1), items[1]);
  assert.deepEqual(parts.cards.versions('ws-123', id, { limit: 1, offset: 1 }).items, [items[1]]);
  refuses('notFound', () => parts.cards.version('ws-123', id, 3));
  refuses('notFound', () => parts.cards.restore(ann, id, 3));
});

test('another workspace hears the same of a card as of none', () => {
  using parts = bench();
  const { id } = parts.cards.create(ann, body({ name: 'A' }));
  for (const which of [id, 'none']) {
    refuses('notFound', () => parts.cards.get('ws-456', which), MISSING);
    refuses('notFound', () => parts.cards.update(bob, which, body({ name: 'B' })), MISSING);
    refuses('notFound', () => parts.cards.delete(bob, which), MISSING);
    refuses('notFound', () => parts.cards.versions('ws-456', which, page), MISSING);
    refuses('notFound', () => parts.cards.version('ws-456', which, 1), MISSING);
    refuses('notFound', () => parts.cards.restore(bob, which, 1), MISSING);
  }
  assert.equal(parts.cards.bySlug('ws-456', 'a'), undefined);
  assert.deepEqual(parts.cards.slugs('ws-456', 10), []);
  for (const filter of [{}, { q: 'a' }, { slug: 'a' }, { include_deleted: 'true' as const }]) {
    assert.equal(parts.cards.list('ws-456', query(filter)).total, 0);
  }
});

test('every change is in the audit log, and one that is refused is not', () => {
  using parts = bench();
  const { id } = parts.cards.create(ann, body({ name: 'A' }));
  parts.cards.update(ann, id, body({ name: 'B' }));
  refuses('conflict', () => parts.cards.create(ann, body({ name: 'A' })));
  refuses('preconditionFailed', () => parts.cards.delete(ann, id, '"9"'));
  parts.cards.delete(ann, id);
  parts.cards.restore(ann, id, 1);
  const actions = parts.entries.map(({ action, detail }) => [action, detail?.['version']]);
  assert.deepEqual(actions, [
    ['card.create', 1],
    ['card.update', 2],
    ['card.delete', 2],
    ['card.restore', 3],
  ]);
  for (const entry of parts.entries) {
    assert.deepEqual([entry.workspace, entry.actor, entry.subject], ['ws-123', 'key:ann', id]);
  }
});

test('a change whose audit entry cannot be written is not made', () => {
  using parts = bench();
  const { id } = parts.cards.create(ann, body({ name: 'A' }));
  Object.assign(parts.entries, {
    push() {
      throw new Error('full');
    },
  });
  assert.throws(() => parts.cards.update(ann, id, body({ name: 'B' })), /full/);
  assert.throws(() => parts.cards.create(ann, body({ name: 'C' })), /full/);
  assert.equal(parts.cards.get('ws-123', id).name, 'A');
  assert.equal(parts.cards.list('ws-123', query()).total, 1);
});

test('filters: provider of the card or of a route, enabled capability, slug, and all together', () => {
  using parts = bench();
  const schemaVersion = '1.0' as const;
  const [on, off] = [
    { type: 'vision', enabled: true },
    { type: 'vision', enabled: false },
  ];
  const make = (name: string, card: object) =>
    parts.cards.create(
      ann,
      body({ name, card: { schemaVersion, name, capabilities: [], ...card } }),
    );
  make('A', { provider: 'openai', capabilities: [on] });
  make('B', {
    routes: [
      { provider: 'azure', weight: 1 },
      { provider: 'openai', weight: 0 },
    ],
  });
  make('C', { provider: 'open', capabilities: [off] });
  const names = (filter: Parameters<typeof query>[0]) =>
    parts.cards
      .list('ws-123', query(filter))
      .items.map(({ name }) => name)
      .join('');
  assert.equal(names({ provider: 'openai' }), 'AB');
  assert.equal(names({ provider: 'open' }), 'C');
  assert.equal(names({ capability: 'vision' }), 'A');
  assert.equal(names({ slug: 'b' }), 'B');
  assert.equal(names({ slug: 'B' }), '');
  assert.equal(names({ provider: 'openai', capability: 'vision', q: 'a', slug: 'a' }), 'A');
  assert.equal(names({ provider: 'azure', capability: 'vision' }), '');
});

test('a search finds all words, in parts, in any field, whatever the case', () => {
  using parts = bench();
  parts.cards.create(
    ann,
    body({ name: 'GPT-4 Turbo', slug: 'g4', description: 'Straße\nMÜNCHEN' }),
  );
  const total = (q: string) => parts.cards.list('ws-123', query({ q })).total;
  for (const q of ['gpt', 'GPT-4 g4', 'turb MÜN', 'ünchen', 'ße', '4', '-', '  ', 'p t']) {
    assert.equal(total(q), 1, q);
  }
  for (const q of ['gpt5', 'turbog4', 'urbo"', '* OR gpt', 'NEAR(', 'letters:gpt', '%', 'b 5']) {
    assert.equal(total(q), 0, q);
  }
});

test('sorting, ascending and descending, with equal ones as they were made', () => {
  let at = 0;
  using parts = bench({ now: () => at });
  const make = (name: string, slug: string) => parts.cards.create(ann, body({ name, slug })).id;
  const first = make('beta', '1');
  make('Alpha', '3');
  at = 1;
  make('beta', '2');
  at = 2;
  parts.cards.update(ann, first, body({ name: 'beta' }));
  const slugs = (sort: NonNullable<Parameters<typeof query>[0]>['sort']) =>
    parts.cards
      .list('ws-123', query({ sort }))
      .items.map(({ slug }) => slug)
      .join('');
  assert.equal(slugs('name'), '312');
  assert.equal(slugs('-name'), '213');
  assert.equal(slugs('slug'), '123');
  assert.equal(slugs('createdAt'), '132');
  assert.equal(slugs('-createdAt'), '231');
  assert.equal(slugs('updatedAt'), '321');
});

test('a search with many results has a true total and pages without gaps', () => {
  using parts = bench();
  for (let n = 0; n < 1100; n++) parts.cards.create(ann, body({ name: `Model ${n}` }));
  const seen = new Set<string>();
  for (let offset = 0; offset < 1200; offset += 100) {
    const { items, total } = parts.cards.list(
      'ws-123',
      query({ q: 'model', sort: '-name', limit: 100, offset }),
    );
    assert.equal(total, 1100);
    for (const { id } of items) seen.add(id);
  }
  assert.equal(seen.size, 1100);
});

test('a card that is too large is refused', () => {
  using parts = bench();
  const notes = 'é'.repeat(33_000);
  const card = { schemaVersion: '1.0' as const, name: 'm', capabilities: [], notes };
  refuses(
    'tooLarge',
    () => parts.cards.create(ann, body({ name: 'A', card })),
    /^card: larger than/,
  );
});

test('a full workspace takes a card again when one is deleted, and restores none meanwhile', () => {
  using parts = bench({ limits: { cards: 2 } });
  const { id } = parts.cards.create(ann, body({ name: 'A' }));
  parts.cards.create(ann, body({ name: 'B' }));
  refuses('conflict', () => parts.cards.create(ann, body({ name: 'C' })), /delete one first/);
  parts.cards.delete(ann, id);
  parts.cards.create(ann, body({ name: 'C' }));
  refuses('conflict', () => parts.cards.restore(ann, id, 1), /delete one first/);
  assert.equal(parts.cards.create(bob, body({ name: 'A' })).version, 1);
});

test('of too many versions the oldest are dropped', () => {
  using parts = bench({ limits: { versions: 3 } });
  const { id } = parts.cards.create(ann, body({ name: 'A' }));
  for (let n = 0; n < 4; n++) parts.cards.update(ann, id, body({ name: `A${n}` }));
  const { items, total } = parts.cards.versions('ws-123', id, page);
  assert.deepEqual(
    items.map(({ version }) => version),
    [5, 4, 3],
  );
  assert.equal(total, 3);
});

test('of too many deleted cards the one that was deleted first is gone for good', () => {
  let at = 0;
  using parts = bench({ limits: { deleted: 2 }, now: () => ++at });
  const ids = ['A', 'B', 'C'].map((name) => parts.cards.create(ann, body({ name })).id);
  for (const id of ids) parts.cards.delete(ann, id);
  refuses('notFound', () => parts.cards.restore(ann, ids[0]!, 1), MISSING);
  const list = parts.cards.list('ws-123', query({ include_deleted: 'true', q: 'a' }));
  assert.equal(parts.cards.list('ws-123', query({ include_deleted: 'true' })).total, 2);
  assert.equal(list.total, 0);
  assert.equal(parts.cards.restore(ann, ids[1]!, 1).name, 'B');
});

test('slugs are listed in order, as many as asked for', () => {
  using parts = bench();
  for (const name of ['c', 'a', 'b']) parts.cards.create(ann, body({ name }));
  assert.deepEqual(parts.cards.slugs('ws-123', 2), ['a', 'b']);
});

test('what is too long for a slug is neither looked up nor remembered', () => {
  using parts = bench();
  parts.register.close();
  assert.throws(() => parts.cards.bySlug('ws-123', 'x'.repeat(128)));
  assert.equal(parts.cards.bySlug('ws-123', 'x'.repeat(129)), undefined);
});

test('a look-up by slug is as new as the last change, of this process or another', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-cards-'));
  try {
    using here = bench({ path: path.join(folder, 'register.db') });
    using there = bench({ path: path.join(folder, 'register.db') });
    // A change of another process is seen in the next turn of the event loop.
    const name = async () => {
      await nextTurn();
      return here.cards.bySlug('ws-123', 'a')?.name;
    };
    assert.equal(await name(), undefined);
    const { id } = there.cards.create(ann, body({ name: 'A' }));
    assert.equal(await name(), 'A');
    assert.equal(here.cards.bySlug('ws-123', 'a'), here.cards.bySlug('ws-123', 'a'));
    here.cards.update(ann, id, body({ name: 'B' }));
    assert.equal(await name(), 'B');
    there.cards.update(ann, id, body({ name: 'C' }), '"2"');
    assert.equal(await name(), 'C');
    refuses('preconditionFailed', () => here.cards.update(ann, id, body({ name: 'D' }), '"2"'));
    there.cards.delete(ann, id);
    assert.equal(await name(), undefined);
    here.cards.restore(ann, id, 1);
    assert.equal(await name(), 'A');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
