import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pricing } from '../cards/schema.ts';
import { OperatorPrices } from './prices.ts';

const usd = (input: number, output: number): Pricing => ({
  inputPricePerToken: input,
  outputPricePerToken: output,
  currency: 'USD',
});
const provider = { name: 'vendor', config: { type: 'openai' } };
const big = { provider, model: 'big' };
const small = { provider, model: 'small' };

test('a card cannot be cheaper than the configuration, and may be more expensive', () => {
  const prices = new OperatorPrices();
  prices.add(big, usd(2, 8));
  assert.equal(prices.of([small], undefined), undefined);
  assert.deepEqual(prices.of([small], usd(1, 1)), usd(1, 1));
  assert.deepEqual(prices.of([big], undefined), usd(2, 8));
  assert.partialDeepStrictEqual(prices.of([big], usd(0, 0)), usd(2, 8));
  assert.partialDeepStrictEqual(prices.of([small, big], usd(3, 1)), usd(3, 8));
  const cached = { ...usd(2, 8), cachedInputPricePerToken: 0 };
  assert.equal(prices.of([big], cached)?.cachedInputPricePerToken, 2);
});

test('a card in another currency has the price of the configuration', () => {
  const prices = new OperatorPrices();
  prices.add(big, usd(2, 8));
  assert.deepEqual(prices.of([big], { ...usd(0, 0), currency: 'EUR' }), usd(2, 8));
});

test('of two prices for a model, the higher one counts', () => {
  const prices = new OperatorPrices();
  prices.add(big, usd(2, 8));
  prices.add(big, usd(1, 9));
  assert.partialDeepStrictEqual(prices.of([big], usd(0, 0)), usd(2, 9));
});
