/**
 * What 10,000 cards cost: each operation takes no more than half as long again as in a workspace of one page.
 *
 * Both are measured in turns, so that whatever else the machine does slows both, and the medians are compared. Each
 * finds as many cards on both sides: what is compared is the finding, not the answer's size.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { CardInput } from '../../src/gateway/cards/schema.ts';
import { ann, bench, body, query, type Bench } from '../gateway/cards-support.ts';

const MANY = 10_000;
const PAGE = 50;
const FACTOR = 1.5;
/** Differences that are smaller than that are noise. */
const FLOOR_MS = 0.05;
const ROUNDS = 60;

const folder = mkdtempSync(path.join(tmpdir(), 'parley-cards-'));
interface Side extends Bench {
  readonly ids: string[];
  next: number;
}
let few: Side & Disposable;
let many: Side & Disposable;

before(() => {
  few = filled('few.db', PAGE);
  many = filled('many.db', MANY);
});

after(() => {
  few[Symbol.dispose]();
  many[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

/** Every one of the first page is a "falcon" too: so a search for it finds a page on both sides. */
function card(n: number): CardInput {
  const rare = n < PAGE;
  return body({
    name: `Model ${n}`,
    description: `${rare ? 'The falcon' : 'A model'} of provider ${n % 7}, number ${n}, for text and pictures`,
    card: {
      schemaVersion: '1.0',
      name: `model-${n}`,
      provider: rare ? 'aviary' : `provider-${n % 7}`,
      capabilities: [{ type: 'streaming', enabled: true }],
      pricing: { inputPricePerToken: 0.00001, outputPricePerToken: 0.00003, currency: 'USD' },
    },
  });
}

function filled(file: string, count: number): Side & Disposable {
  const parts = bench({ path: path.join(folder, file) });
  // One by one, as they come; only the disk is spared.
  parts.register.db.exec('PRAGMA synchronous = OFF');
  const ids = Array.from({ length: count }, (_, n) => parts.cards.create(ann, card(n)).id);
  parts.register.db.exec('PRAGMA synchronous = NORMAL');
  return { ...parts, ids, next: MANY };
}

const { workspace } = ann;

const operations: Readonly<Record<string, (side: Side) => unknown>> = {
  list: ({ cards }) => cards.list(workspace, query()),
  'list by name, descending': ({ cards }) => cards.list(workspace, query({ sort: '-name' })),
  get: ({ cards, ids }) => cards.get(workspace, ids[ids.length >> 1]!),
  'look up by slug': ({ cards }) => cards.bySlug(workspace, 'model-7'),
  search: ({ cards }) => cards.list(workspace, query({ q: 'falcon' })),
  'filter by provider': ({ cards }) => cards.list(workspace, query({ provider: 'aviary' })),
  create: (side) => side.cards.create(ann, card(side.next++)),
  update: ({ cards, ids }) => cards.update(ann, ids[7]!, card(7)),
};

function took(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}

for (const [name, operation] of Object.entries(operations)) {
  test(`${name}: 10,000 cards cost no more than ${FACTOR} times one page`, (context) => {
    const times: { few: number[]; many: number[] } = { few: [], many: [] };
    for (let round = 0; round < ROUNDS; round++) {
      times.few.push(took(() => operation(few)));
      times.many.push(took(() => operation(many)));
    }
    const [less, more] = [median(times.few), median(times.many)];
    const ms = (value: number) => value.toFixed(3);
    context.diagnostic(`${name}: ${ms(less)} ms, with 10,000 ${ms(more)} ms`);
    assert.ok(
      more <= less * FACTOR + FLOOR_MS,
      `${ms(more)} ms with 10,000 cards, ${ms(less)} ms with ${PAGE}`,
    );
  });
}
