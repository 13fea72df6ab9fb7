import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError } from '../../protocol/index.ts';
import { parsed } from '../api/route.ts';
import { CardInput, Slug } from './schema.ts';
import { slugOf } from './slug.ts';

const content = {
  schemaVersion: '1.0',
  name: 'gpt-4-turbo',
  capabilities: [{ type: 'streaming', enabled: true }],
  pricing: { inputPricePerToken: 0.00001, outputPricePerToken: 0.00003, currency: 'USD' },
};
const { pricing } = content;

const refused: readonly [why: string, body: object, field: string][] = [
  ['no name', { card: content }, 'name'],
  ['a blank name', { name: ' \u00a0', card: content }, 'name'],
  ['a line break in the name', { name: 'a\nb', card: content }, 'name'],
  ['half a surrogate pair', { name: '\ud800', card: content }, 'name'],
  ['a name that is too long', { name: 'x'.repeat(257), card: content }, 'name'],
  ['NUL in the description', { name: 'a', description: '\0', card: content }, 'description'],
  ['a slug with a space', { name: 'a', slug: 'a b', card: content }, 'slug'],
  ['a slug that ends in a hyphen', { name: 'a', slug: 'a-', card: content }, 'slug'],
  ['no card', { name: 'a' }, 'card'],
  ['no schema version', card({ schemaVersion: undefined }), 'card.schemaVersion'],
  ['a later schema version', card({ schemaVersion: '2.0' }), 'card.schemaVersion'],
  ['a capability that is no object', card({ capabilities: ['x'] }), 'card.capabilities.0'],
  [
    'a capability without enabled',
    card({ capabilities: [{ type: 'x' }] }),
    'card.capabilities.0.enabled',
  ],
  [
    'a capability twice',
    card({ capabilities: [content.capabilities[0], content.capabilities[0]] }),
    'card.capabilities.1.type',
  ],
  [
    'a negative price',
    card({ pricing: { ...pricing, inputPricePerToken: -1 } }),
    'card.pricing.inputPricePerToken',
  ],
  [
    'an infinite price',
    card({ pricing: { ...pricing, outputPricePerToken: Infinity } }),
    'card.pricing.outputPricePerToken',
  ],
  [
    'a price in words',
    card({ pricing: { ...pricing, outputPricePerToken: '1' } }),
    'card.pricing.outputPricePerToken',
  ],
  [
    'a price without a currency',
    card({ pricing: { ...pricing, currency: undefined } }),
    'card.pricing.currency',
  ],
  [
    'a currency in small letters',
    card({ pricing: { ...pricing, currency: 'usd' } }),
    'card.pricing.currency',
  ],
  ['a provider and routes', card({ provider: 'a', routes: [{ provider: 'b' }] }), 'card.routes'],
];

function card(fields: object): object {
  return { name: 'a', card: { ...content, ...fields } };
}

for (const [why, body, field] of refused) {
  test(`${why} is refused, and the error begins with ${field}`, () => {
    assert.throws(
      () => parsed(CardInput, body),
      (error) =>
        error instanceof A2AError &&
        error.kind === 'invalidParams' &&
        error.message.startsWith(`${field}: `),
    );
  });
}

test('a field that is missing is said to be', () => {
  assert.throws(() => parsed(CardInput, { name: 'a' }), { message: 'card: it is missing' });
});

test('fields that the schema does not know are kept inside the card', () => {
  const extended = {
    ...content,
    region: { zone: 'eu' },
    capabilities: [{ type: 'vision', enabled: true, maxPixels: 1024 }],
    pricing: { ...pricing, tier: 'batch' },
  };
  assert.deepEqual(parsed(CardInput, { name: 'a', card: extended }).card, extended);
});

test('a card cannot reach the prototype of what it becomes', () => {
  const body: unknown = JSON.parse(
    '{"name":"a","card":{"schemaVersion":"1.0","name":"a","__proto__":{"provider":"evil"}}}',
  );
  const input = parsed(CardInput, body);
  assert.equal(input.card.provider, undefined);
});

test('a slug is made from the name', () => {
  assert.equal(slugOf('GPT-4 Turbo'), 'gpt-4-turbo');
  assert.equal(slugOf('  GPT-4.1 mini! '), 'gpt-4.1-mini');
  assert.equal(slugOf('Crème brûlée'), 'creme-brulee');
  assert.equal(slugOf('模型'), '');
});

test('a slug made from a name is one that may be given', () => {
  for (const name of [`${'x'.repeat(127)} y`, '...a...', 'K — ﬃ', '½ of ①']) {
    assert.equal(Slug.safeParse(slugOf(name)).success, true, name);
  }
});
