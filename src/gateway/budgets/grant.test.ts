import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Counter, grantOf, type Limit, type Need } from './grant.ts';

const holder = { kind: 'key', workspace: 'w', id: 'k' } as const;
const period = { name: 'total', from: '', to: '9' };
const unused: Counter = { calls: 0, tokens: 0, nanos: 0, reservedTokens: 0, reservedNanos: 0 };
/** A call that costs nothing: without a prompt, an answer or a price. */
const free: Need = {
  inputTokens: 0,
  inputNanos: 0,
  outputPrice: 0,
  currency: 'USD',
  maxOutputTokens: 0,
};

function limit(fields: Partial<Limit>): Limit {
  return { holder, every: 'total', period, currency: 'USD', ...fields };
}

test('a budget that is used up refuses a call that costs nothing, in tokens and in money', () => {
  for (const fields of [{ tokens: 10 }, { nanos: 10 }]) {
    const grant = (counter: Partial<Counter>) =>
      grantOf(free, [{ limit: limit(fields), counter: { ...unused, ...counter } }]);
    assert.ok(grant({ tokens: 9, nanos: 9 }).granted);
    for (const spent of [10, 11]) {
      const refused = grant({ tokens: spent, nanos: spent });
      assert.ok(!refused.granted);
      assert.equal(refused.why, 'spent');
    }
    const busy = grant({ reservedTokens: 10, reservedNanos: 10 });
    assert.ok(!busy.granted);
    assert.equal(busy.why, 'reserved');
  }
});
